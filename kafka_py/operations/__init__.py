"""What is known and done about a whole cluster, of whichever make, through clients: looks, findings, plans.

    groups/  consumer groups: where a reset takes them
"""
