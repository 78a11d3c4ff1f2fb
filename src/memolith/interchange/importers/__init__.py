"""One file per program whose memory can be imported; `programs.py` lists them."""
