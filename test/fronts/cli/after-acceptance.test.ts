// Goal: once a generation is accepted, the command waits longer than a restart takes, and then reports where to find
// the generation.
// Method: command lines and a service in this process, over a link that refuses chosen requests as a restarting server
// does.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { MAX_TRIES, PATIENT_TRIES } from '../../../clients/typescript/src/retry.js';
import { CliService } from '../../harness/cli-service.js';

const BASE = '/api/v1/developer/generations';

describe('darkroom generate, once accepted', () => {
  let service: CliService;
  let link: Server;
  let url: string;
  /** How many requests of each kind are refused from now on. */
  let away: { polls: number; creates: number; outputs: number };
  let polls: number;

  before(async () => {
    service = await CliService.start();
    link = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => {
          const path = request.url ?? '';
          const kind =
            request.method === 'GET' && path.startsWith(`${BASE}/`)
              ? 'polls'
              : request.method === 'POST' && path === BASE
                ? 'creates'
                : undefined;
          if (kind === 'polls') polls += 1;
          if (kind !== undefined && away[kind] > 0) {
            away[kind] -= 1;
            response.writeHead(503, { 'retry-after': '0' }).end();
            return;
          }
          const { 'connection': _, 'host': __, 'content-length': ___, ...headers } = request.headers;
          const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
          void fetch(`${service.url}${path}`, {
            method: request.method ?? 'GET',
            headers: headers as Record<string, string>,
            ...body,
          }).then(async (answer) => {
            const text = await answer.text();
            const shown =
              away.outputs > 0 ? text.replaceAll(`${service.url}/objects/`, `${service.url}/nowhere/`) : text;
            response.writeHead(answer.status, { 'content-type': 'application/json' }).end(shown);
          });
        });
    });
    await once(link.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(link.address() as AddressInfo).port}`;
  });
  after(async () => {
    link.close();
    await service.stop();
  });
  beforeEach(() => {
    away = { polls: 0, creates: 0, outputs: 0 };
    polls = 0;
  });

  const quick = (...more: string[]) => [
    'generate',
    'x',
    '--model',
    'sandbox-test',
    '--param',
    'size=128x128',
    '--url',
    url,
    ...more,
  ];
  const ending = (stderr: string, state: string) => {
    const id = /^accepted as (\S{36})$/m.exec(stderr)?.[1];
    return ` Generation ${id} ${state}; fetch it with: npx darkroom status ${id} --out <path> --url ${url}\n`;
  };

  it('survives a restart of the server', async () => {
    away.polls = PATIENT_TRIES - 1;
    expect(away.polls).to.be.above(MAX_TRIES);
    const { code, stderr } = await service.run(quick('--out', 'restarted.png'));
    expect(code, stderr).to.equal(0);
    expect(polls).to.be.at.least(PATIENT_TRIES);
    expect(stderr).to.include('\nthe server does not answer; trying again\n');
  });

  it('says where the generation is when the server stays unavailable', async () => {
    away.polls = Infinity;
    const { code, stdout, stderr } = await service.run(quick('--out', 'away.png'));
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' });
    expect(stderr.endsWith(ending(stderr, 'continues')), stderr).to.equal(true);
    expect(polls).to.equal(PATIENT_TRIES);
    const json = await service.json<{ error: { generation_id: string; message: string } }>(quick('--out', 'away.png'));
    expect(json.error.message).to.include(json.error.generation_id);
  });

  it('says where the generation is when a result cannot be fetched', async () => {
    away.outputs = 1;
    const { code, stdout, stderr } = await service.run(quick('--out', 'lost.png'));
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' });
    expect(stderr).to.match(/^darkroom: An output could not be downloaded: its address answered with status 404\./m);
    expect(stderr.endsWith(ending(stderr, 'has ended')), stderr).to.equal(true);
    const id = /accepted as (\S+)/.exec(stderr)?.[1] ?? '';
    const fetched = await service.run(['status', id, '--out', 'found.png']);
    expect(fetched.stdout).to.match(/\nfound\.png\n$/);
  });

  it('says how to find out whether a create was accepted', async () => {
    away.creates = Infinity;
    const { code, stderr } = await service.run(quick());
    expect(code).to.equal(1);
    expect(stderr).to.match(
      /^darkroom: .+ Whether it was accepted is not known; the same command with --idempotency-key [0-9a-f-]{36} finds out and does not spend twice\.\n$/m,
    );
  });
});
