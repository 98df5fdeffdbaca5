"""x"""
burst=None
