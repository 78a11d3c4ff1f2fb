"""One file per format that memory can be exported to; `formats.py` lists them."""
