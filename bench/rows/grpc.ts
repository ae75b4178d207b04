import { compareServers, type Server } from '../compare.js';
import { comparisonLines, type Row } from '../report.js';
import type { Run } from '../run.js';
import { createCalls, createRequests, getCalls, statusRequests } from '../servers/sample.js';

const STATUS_SAMPLES = 1_000;

/**
 * Create and get over gRPC, each beside a bare grpc-js server that does the least that could be called the same, and
 * then beside the same process asked for the same over REST.
 */
export async function measureGrpc(run: Run): Promise<Row[]> {
  const { load, sizes } = run;
  const rest = await run.startSubject(run.newFolder('grpc'));
  const ours: Server = { child: rest.child, port: await rest.child.ask('listenGrpc', undefined) };
  const bare = await run.startGrpcControl();
  const credential = await rest.child.ask('createCredential', undefined);

  const create = { grpc: createCalls(credential), rest: createRequests(credential.secret) };
  const { marks } = await load.ask('run', {
    port: ours.port,
    kind: create.grpc,
    connections: sizes.connections,
    durationMs: 30_000,
    maxRequests: STATUS_SAMPLES,
    isMarked: true,
  });
  const ids = marks.map(({ generationId }) => generationId);
  const get = { grpc: getCalls(credential, ids), rest: statusRequests(credential.secret, ids) };
  const answerOf = (kind: typeof create.grpc) => load.ask('get', { port: ours.port, kind });
  await bare.child.ask('answerWith', { created: await answerOf(create.grpc), got: await answerOf(get.grpc) });

  const rows: Row[] = [];
  for (const [name, kinds] of Object.entries({ create, get })) {
    const beside = await compareServers(
      load,
      [
        { server: ours, kind: kinds.grpc },
        { server: bare, kind: kinds.grpc },
      ],
      sizes,
    );
    rows.push({ name: `grpc ${name}`, lines: comparisonLines(`grpc ${name}`, beside), figures: beside });
  }
  for (const [name, kinds] of Object.entries({ create, get })) {
    const fronts = await compareServers(
      load,
      [
        { server: ours, kind: kinds.grpc },
        { server: rest, kind: kinds.rest },
      ],
      sizes,
    );
    rows.push({
      name: `grpc ${name}, not REST`,
      lines: comparisonLines(`${name}, gRPC not REST`, fronts),
      figures: fronts,
    });
  }
  await Promise.all([rest.child.stop(), bare.child.stop()]);
  return rows;
}
