"""What everything stands on: errors, files, tensors, locks, threads, progress, flags."""
