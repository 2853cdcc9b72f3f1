"""What printers and transcribers left in a text, spoken as nothing."""
