import { compareServers, type Comparison } from '../compare.js';
import type { RequestKind } from '../load/requests.js';
import { comparisonLines, type Row } from '../report.js';
import type { Run } from '../run.js';
import { createRequests, statusRequests } from '../servers/sample.js';

const AIM = { text: '≤ 1.5', atMost: 1.5 };
const STATUS_SAMPLES = 1_000;
const PIPELINED = 8;

/** Create and status, each beside a bare Koa server that does the least that could be called the same. */
export async function measureRequests(run: Run): Promise<Row[]> {
  const { load, sizes } = run;
  const subject = await run.startSubject(run.newFolder('requests'));
  const control = await run.startControl();
  const { secret } = await subject.child.ask('createCredential', undefined);

  const create = createRequests(secret);
  const creating = await compareServers(
    load,
    [
      { server: subject, kind: create },
      { server: control, kind: create },
    ],
    sizes,
  );

  const { marks } = await load.ask('run', {
    port: subject.port,
    kind: create,
    connections: sizes.connections,
    durationMs: 30_000,
    maxRequests: STATUS_SAMPLES,
    isMarked: true,
  });
  const status = statusRequests(
    secret,
    marks.map(({ generationId }) => generationId),
  );
  await control.child.ask('answerWith', { json: await load.ask('get', { port: subject.port, kind: status }) });
  const readingBy = (kind: RequestKind): Promise<Comparison> =>
    compareServers(
      load,
      [
        { server: subject, kind },
        { server: control, kind },
      ],
      sizes,
    );
  const reading = await readingBy(status);
  const pipelined = await readingBy({ ...status, pipelined: PIPELINED });
  await Promise.all([subject.child.stop(), control.child.stop()]);
  return [
    { name: 'create', lines: comparisonLines('create', creating, AIM), figures: creating },
    { name: 'status', lines: comparisonLines('status', reading, AIM), figures: reading },
    {
      name: 'pipelined status',
      lines: comparisonLines(`status, ${PIPELINED} pipelined on a connection`, pipelined),
      figures: pipelined,
    },
  ];
}
