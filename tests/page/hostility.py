"""Texts that would do harm on a page that does not escape them."""

HOSTILE = (
    '<script>window.harmed = 1</script><img src=x onerror="window.harmed = 1">'
    "\"'><svg onload=window.harmed=1> {{ 7 * 7 }} {% raw %} ${7*7} </title></textarea></pre>"
    " javascript:window.harmed=1 http://example.com/picture.png \u202egnirts\u202c \u2067x\u2069"
)
LONG = "W" * 400
EVERYTHING = f"{HOSTILE} {LONG}"
