"""x"""
hot_key=spikes=uniform=adaptive=eventual=None
