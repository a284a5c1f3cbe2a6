"""Closed forms that the papers state or imply: window growth, RTT fairness, the square-root law and CUBIC's K.

Pure functions of numbers or NumPy arrays. Windows are in packets, times in seconds, rates in packets per second unless
a name states otherwise.
"""
