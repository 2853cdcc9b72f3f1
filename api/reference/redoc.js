/* Redoc over this server's own description. */

window.Redoc.init("openapi.json", { hideDownloadButtons: true, sanitize: true }, document.getElementById("reference"));
