"""Requests to addresses that callers name: webhook receivers, and recordings fetched by URL.

A caller must not reach through us what only we can reach. So a name is resolved once, every address of the answer is
checked, and the checked address is dialled; TLS and the Host header keep the name. Redirects are never followed, no
proxy of the environment is used, and each attempt is bounded in time and bytes.
"""
