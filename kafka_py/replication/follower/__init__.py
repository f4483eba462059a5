"""What a follower does: it fetches from the leader, cuts its log where the leader's epochs say so."""
