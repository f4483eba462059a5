"""What is known and done about a whole cluster, of whichever make, through clients: looks, findings, plans.

    cluster_view/  one look at a cluster as plain values
    groups/        consumer groups: where a reset takes them
"""
