// Goal: an operator's check of the ledgers finds nothing wrong while another process writes them.
// Method: the compiled program serves; four clients create generations while `verify` runs as a process of its own, on
// the stores and over gRPC.
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import type { CliProcess } from '../harness/cli-run.js';
import { CliService } from '../harness/cli-service.js';
import { freePort } from '../servers/free-port.js';

const CLIENTS = 4;
const CREATES_PER_CLIENT = 10;

describe('a check of the ledgers beside a server that writes them', () => {
  let service: CliService<CliProcess>;
  let grpcAddress: string;
  before(async () => {
    const port = await freePort();
    grpcAddress = `127.0.0.1:${port}`;
    service = await CliService.startProcess({ DARKROOM_GRPC_PORT: String(port) });
  });
  after(() => service.stop());

  async function create(): Promise<number> {
    const { status } = await fetch(`${service.url}/api/v1/developer/generations`, {
      method: 'POST',
      headers: {
        'authorization': `Bearer ${service.secret}`,
        'content-type': 'application/json',
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify({
        model_key: 'sandbox-noop',
        operation: 'image_generation',
        prompt: 'x',
        parameters: { n: 2 },
      }),
    });
    return status;
  }

  for (const [name, way] of [
    ['on its stores', () => []],
    ['over gRPC', () => ['--grpc', grpcAddress]],
  ] as const)
    it(`finds nothing wrong, ${name}`, async () => {
      const load = { isOver: false };
      const clients = Array.from({ length: CLIENTS }, async () => {
        const statuses: number[] = [];
        while (!load.isOver && statuses.length < CREATES_PER_CLIENT) statuses.push(await create());
        return statuses;
      });
      for (let times = 0; times < 3; times += 1) {
        const { code, stdout, stderr } = await service.run(['verify', ...way()]);
        expect(code, stdout + stderr).to.equal(0);
      }
      load.isOver = true;
      expect((await Promise.all(clients)).flat()).to.include(202);
    });
});
