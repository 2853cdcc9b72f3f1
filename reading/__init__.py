"""From a text or a document to the sentences that are spoken; nothing here knows of stores, sound or HTTP."""
