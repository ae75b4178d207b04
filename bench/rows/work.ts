import type { SliceDone } from '../load/generator.js';
import { latencyLine, latencyPercentiles, micros, whole, type Row } from '../report.js';
import type { Run } from '../run.js';
import { createRequests } from '../servers/sample.js';

const PACE_MS = 10;
const LONGEST_MS = 120_000;

/**
 * The work after the response: the delay until a provider is called, and the number of generations completed per
 * second.
 */
export async function measureWork(run: Run): Promise<Row[]> {
  const { load, sizes } = run;
  const subject = await run.startSubject(run.newFolder('work'));
  const { secret } = await subject.child.ask('createCredential', undefined);
  await subject.child.ask('startWorker', undefined);
  const kind = createRequests(secret);
  const create = (connections: number, maxRequests: number, intervalMs: number): Promise<SliceDone> =>
    load.ask('run', {
      port: subject.port,
      kind,
      connections,
      maxRequests,
      intervalMs,
      durationMs: LONGEST_MS,
      isMarked: true,
    });

  // The first ones pay for code that was never run before.
  await create(sizes.connections, sizes.pacedCreates, 0);
  await subject.child.ask('drained', undefined);
  await subject.child.ask('takeSubmissions', undefined);

  const paced = await create(1, sizes.pacedCreates, PACE_MS);
  await subject.child.ask('drained', undefined);
  const submittedAt = new Map(await subject.child.ask('takeSubmissions', undefined));
  const fromSending = paced.marks.map((mark) => (submittedAt.get(mark.generationId) ?? Number.NaN) - mark.sentAtMicros);
  const fromAnswer = paced.marks.map(
    (mark) => (submittedAt.get(mark.generationId) ?? Number.NaN) - mark.answeredAtMicros,
  );

  const before = await subject.child.ask('usage', undefined);
  const burst = await create(sizes.connections, sizes.endToEndGenerations, 0);
  const drainedAtMicros = await subject.child.ask('drained', undefined);
  const after = await subject.child.ask('usage', undefined);
  const perSecond = burst.requests / ((drainedAtMicros - burst.beganAtMicros) / 1_000_000);
  const cpuMicros = (after.cpuMicros - before.cpuMicros) / burst.requests;
  await subject.child.stop();

  return [
    {
      name: 'create to provider',
      lines: [
        latencyLine('create sent → provider called, p50 and p99', fromSending),
        latencyLine('create answered → provider called, p50 and p99', fromAnswer),
      ],
      figures: { fromSendingMicros: latencyPercentiles(fromSending), fromAnswerMicros: latencyPercentiles(fromAnswer) },
    },
    {
      name: 'end to end',
      lines: [
        { what: 'generations/s from create to settled', measured: whole(perSecond) },
        { what: 'CPU a generation, from create to settled', measured: micros(cpuMicros) },
      ],
      figures: { perSecond, cpuMicros },
    },
  ];
}
