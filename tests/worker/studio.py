"""A worker's services in this process and the jobs given to it; fixtures build it in `conftest`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reading.estimates import expected_audio_ms
from rhapsode.contract.jobs.narration import Narration, SegmentLengths
from rhapsode.contract.jobs.states import Priority
from storage.ids import TenantId, WorkQueue, new_job_id
from storage.job_store.leases import Look
from storage.job_store.plan_cache import PlanCache
from storage.job_store.store import JobStore
from storage.job_store.submit import Submitted
from storage.jobs.record import JobRecord
from storage.jobs.submissions import Submission, with_plan
from storage.jobs.whole import WholePlan
from storage.jobs.whole_plan import whole_plan
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.narration.spec import NarrationSpec
from storage.objects import keys
from storage.objects.store import ArtifactStore
from worker.items.cpu_ticket import run_cpu_ticket
from worker.items.gpu_ticket import run_speech_item
from worker.services import SpeechServices
from worker.speech.postprocessing.in_process import InProcessPostProcessor

TENANT = TenantId("local")

TEXT = "The first sentence. The second one is here!\n\nA new paragraph begins. 字字字。然后呢？"

SPEC = NarrationSpec(
    Narration(model="fake", voice="ada", seed=7, segmentation=SegmentLengths(target_chars=20, max_chars=60)),
    seed_fixed=True,
)


GPU_QUEUE = speech_queue(SPEC.model)


@dataclass(frozen=True)
class Studio:
    """Jobs go in by `submit`, items are done by hand with `drain`, outcomes are read from `jobs` and `artifacts`."""

    services: SpeechServices
    jobs: JobStore
    artifacts: ArtifactStore

    def submit(self, text: str = TEXT, spec: NarrationSpec = SPEC) -> JobRecord:
        return submit_narration(self.jobs, self.artifacts, text, spec).job

    def submit_planned(self, text: str, spec: NarrationSpec = SPEC) -> JobRecord:
        """As the API does it: a job that is whole comes with its plan."""
        return submit_narration(self.jobs, self.artifacts, text, spec, whole_plan(text, spec)).job

    def drain(self) -> None:
        """Run every ready item of both queues, one after the other."""
        while True:
            ready = self.jobs.ready_counts()
            if not ready[CPU_QUEUE] and not ready[GPU_QUEUE]:
                return
            for queue in (CPU_QUEUE, GPU_QUEUE):
                if ready[queue]:
                    self.run_one(queue)

    def run_until(self, queue: WorkQueue) -> None:
        """Run items of the other queue until this one has something to do."""
        for _ in range(1000):
            if self.jobs.ready_counts()[queue]:
                return
            self.run_one(GPU_QUEUE if queue == CPU_QUEUE else CPU_QUEUE)
        raise AssertionError(f"nothing became ready in {queue}")

    def run_one(self, queue: WorkQueue) -> None:
        if queue == CPU_QUEUE:
            run_cpu_ticket(replace(self.services.worker, queue=CPU_QUEUE))
        else:
            run_gpu_item(self.services)

    def record(self, job: JobRecord) -> JobRecord:
        return self.jobs.get(TENANT, job.id)

    def drained(self, job: JobRecord) -> JobRecord:
        """What the job has become after `drain`."""
        self.drain()
        return self.record(job)

    def with_jobs(self, jobs: JobStore) -> Studio:
        """The same studio over a job store with other limits."""
        worker = replace(self.services.worker, jobs=jobs)
        return Studio(replace(self.services, worker=worker), jobs, self.artifacts)

    def with_artifacts(self, artifacts: ArtifactStore) -> Studio:
        """The same studio over another view of its store."""
        services = replace(
            self.services,
            worker=replace(self.services.worker, artifacts=artifacts, plans=PlanCache(artifacts)),
            postprocessor=InProcessPostProcessor(artifacts),
        )
        return Studio(services, self.jobs, self.artifacts)


def run_gpu_item(services: SpeechServices) -> None:
    """One item, in this thread."""
    if not services.worker.claims:
        return
    look = Look(services.worker.queue, room=1, is_woken=True, is_last=True)
    claims = services.worker.jobs.claim_several(look, services.worker.identity, services.worker.lease_s)
    services.worker.tickets.send(claims.tickets)
    for item in claims.items:
        services.worker.tickets.send(run_speech_item(item, services))


def submit_narration(
    jobs: JobStore, artifacts: ArtifactStore, text: str, spec: NarrationSpec, whole: WholePlan | None = None
) -> Submitted:
    """What the API does with a valid request, short of sending the tickets. whole: None for three items."""
    job = new_job_id()
    key = keys.input_text(TENANT, job)
    artifacts.put(key, text.encode())
    estimate = expected_audio_ms(text)
    submission = Submission(job, TENANT, spec, Priority.NORMAL, key, len(text), estimate, retention_s=3600)
    return jobs.submit(submission if whole is None else with_plan(submission, whole))
