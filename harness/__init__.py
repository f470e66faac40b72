"""Isoprobe: same evidence, different view - does the decision hold?"""
