import type { Child } from '../child.js';
import { compareServers, type Loaded, type Server } from '../compare.js';
import { comparisonLines, type Row } from '../report.js';
import type { Run } from '../run.js';
import { createRequests, statusRequests } from '../servers/sample.js';
import type { SubjectCommands } from '../servers/subject.js';

const AIM = { text: '≤ 1.05', atMost: 1.05 };
const STATUS_SAMPLES = 1_000;

interface Sides {
  readonly create: Loaded;
  readonly status: Loaded;
}

/** Create and status of the program that counts what it does, beside the same program that does not. */
export async function measureMetrics(run: Run): Promise<Row[]> {
  const counting = await run.startSubject(run.newFolder('counting'), 'measured');
  const plain = await run.startSubject(run.newFolder('plain'));
  const [subject, control] = [await sidesOf(run, counting), await sidesOf(run, plain)];
  const creating = await compareServers(run.load, [subject.create, control.create], run.sizes);
  const reading = await compareServers(run.load, [subject.status, control.status], run.sizes);
  await Promise.all([counting.child.stop(), plain.child.stop()]);
  return [
    { name: 'metrics of create', lines: comparisonLines('create, with metrics', creating, AIM), figures: creating },
    { name: 'metrics of status', lines: comparisonLines('status, with metrics', reading, AIM), figures: reading },
  ];
}

async function sidesOf(
  { load, sizes }: Run,
  server: Server & { readonly child: Child<SubjectCommands> },
): Promise<Sides> {
  const { secret } = await server.child.ask('createCredential', undefined);
  const create = createRequests(secret);
  const { marks } = await load.ask('run', {
    port: server.port,
    kind: create,
    connections: sizes.connections,
    durationMs: 30_000,
    maxRequests: STATUS_SAMPLES,
    isMarked: true,
  });
  return {
    create: { server, kind: create },
    status: {
      server,
      kind: statusRequests(
        secret,
        marks.map(({ generationId }) => generationId),
      ),
    },
  };
}
