#!/bin/bash
# A training run on 4 nodes with 1 rank each, written by `mtfc slurm`. Submit it with sbatch.
#SBATCH --job-name=try-2
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=1-12:30
#SBATCH --partition=long
#SBATCH --account=physics
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@300

cd /FOLDER || exit
checkpoints='my ck'\''s'
launcher=(srun --mpi=pmi2 --cpus-per-task=8)
run=(/MTFC run model.json
     --quiet
     --input x=x.npy
     --mesh a:2,b:2
     --layout batch:a,hidden:b
     --steps 40
     --checkpoint 'my ck'\''s'
     --every 10
     --metrics '$HOME;log.txt'
     --set lr=0.1
     --memory-limit 1048576
     --seed 3
     --resume
     --grace 150
     --threads 8)

last_checkpoint() {
  ls -- "$checkpoints" 2>/dev/null | grep -xE 'step_[0-9]+' | sort -V | tail -n 1
}

# Slurm sends USR1 to this script shortly before the time limit, and TERM to script and ranks when it ends the job for
# another reason. On TERM the ranks save a checkpoint and end with exit code 143, for which the script waits.
signaled='' out_of_time=''
trap 'signaled=1' TERM
trap 'signaled=1 out_of_time=1; scancel --signal=TERM "$SLURM_JOB_ID"' USR1

begin=$(last_checkpoint)
"${launcher[@]}" "${run[@]}" &
while signaled=''; wait $!; code=$?; [ -n "$signaled" ]; do :; done

# Slurm itself requeues a job that it has ended, because of a lost node, say. Only a job that still runs, and whose ranks
# have ended because of the time limit or at the beginning of a time of grace before a preemption, is left to this script.
job=$(scontrol show job "$SLURM_JOB_ID")
if [ $code -eq 143 ] && [[ $job == *JobState=RUNNING* ]]; then
  if [ -n "$out_of_time" ] && [ "$(last_checkpoint)" = "$begin" ]; then
    echo "the time limit was reached before a checkpoint was saved, so the job is not requeued" >&2
  elif [ -n "$out_of_time" ] || [[ $job == *\ PreemptTime=[0-9]* ]]; then
    echo "requeueing job $SLURM_JOB_ID, which goes on from '$checkpoints/$(last_checkpoint)'" >&2
    scontrol requeue "$SLURM_JOB_ID" && exit 0
  fi
fi
exit $code
