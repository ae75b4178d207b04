import { expect } from 'chai';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type OutgoingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { MAX_TRIES, PATIENT_TRIES } from '../../../clients/typescript/src/retry.js';
import { image } from '../../fixtures/images.js';
import { CliRun } from '../../harness/cli-run.js';
import { CliService } from '../../harness/cli-service.js';

// Goal: `darkroom generate` makes the requested files, never twice and never over another file, and Ctrl-C cancels.
// Method: command lines and a service with the sandbox provider in this process, over a link that loses answers where
// that matters.

const PNG = Buffer.from('89504e470d0a1a0a', 'hex');

interface Task {
  readonly generation_id: string;
  readonly status: string;
  readonly charged_credits: number;
  readonly files: readonly string[];
}
interface Balance {
  readonly balance_credits: number;
}
interface Ledger {
  readonly entries: readonly { readonly kind: string; readonly generation_id?: string }[];
}

interface Passed {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly text: string;
}

/** A server that hands each request to the service by `pass`, and answers as `serve` decides. */
function linkTo(
  { url }: { readonly url: string },
  serve: (route: string, response: ServerResponse, pass: () => Promise<Passed>) => Promise<void>,
): Server {
  return createServer((request, response) => {
    void buffer(request).then((body) => {
      const { method = 'GET', url: path = '' } = request;
      const { 'connection': _, 'host': __, 'content-length': ___, ...headers } = request.headers;
      return serve(`${method} ${path}`, response, async () => {
        const sent = { method, headers: headers as Record<string, string>, ...(body.length === 0 ? {} : { body }) };
        const answer = await fetch(url + path, sent);
        const replayed = answer.headers.get('idempotency-replayed') ?? 'false';
        return {
          status: answer.status,
          headers: { 'content-type': 'application/json', 'idempotency-replayed': replayed },
          text: await answer.text(),
        };
      });
    });
  });
}

describe('darkroom generate', () => {
  let service: CliService;
  before(async () => {
    service = await CliService.start();
  });
  after(() => service.stop());

  const at = (name: string) => join(service.folder, name);
  const balance = async () => (await service.json<Balance>(['credits'])).balance_credits;
  const quick = (prompt: string, ...more: string[]) => [
    'generate',
    prompt,
    '--model',
    'sandbox-test',
    '--param',
    'size=128x128',
    ...more,
  ];

  it('writes the picture, with only its path on stdout when piped', async () => {
    const { code, stdout, stderr } = await service.run(quick('a boat', '--out', 'boat.png'));
    expect({ code, stdout }).to.deep.equal({ code: 0, stdout: 'boat.png\n' });
    expect(stderr.split('\n')).to.include.members([
      'estimated at 1 credit',
      'succeeded',
      'succeeded, 1 credit charged',
    ]);
    expect(stderr).to.match(/^accepted as [0-9a-f-]{36}$/m);
    expect(readFileSync(at('boat.png')).subarray(0, 8)).to.deep.equal(PNG);
  });

  it('uses the first model where none is named, and says so', async () => {
    const { code, stderr } = await service.run(['generate', 'a boat', '--no-wait']);
    expect(code).to.equal(0);
    expect(stderr).to.match(
      /^The model is sandbox-image, the first of \d+; --model names another, and darkroom models lists them\.\n/,
    );
    const { model_key: used } = await service.json<{ model_key: string }>(['generate', 'a boat', '--no-wait']);
    expect(used).to.equal('sandbox-image');
  });

  it('lists and shows what the key has made', async () => {
    const made = await service.json<Task>(quick('listed', '--trace-id', 'listed-1'));
    await service.run(quick('listed', '--trace-id', 'listed-1', '--no-wait'));
    const { generations: all } = await service.json<{ generations: Task[] }>(['list', '--trace-id', 'listed-1']);
    expect(all).to.have.lengthOf(2);
    expect(all[1]?.generation_id).to.equal(made.generation_id);
    const page = await service.run(['list', '--trace-id', 'listed-1', '--limit', '1']);
    const [, cursor = ''] = /\nThere is more: --cursor (\S+)\n$/.exec(page.stdout) ?? [];
    const next = await service.run(['list', '--trace-id', 'listed-1', '--limit', '1', '--cursor', cursor]);
    expect(next.stdout).to.match(/^GENERATION +STATUS +MODEL +CREATED +CREDITS\n/);
    expect(next.stdout).to.include(`${made.generation_id}  succeeded  sandbox-test  `).and.to.include('1 charged');
    expect((await service.run(['list', '--model', 'none'])).stdout).to.equal('(none)\n');
    expect((await service.run(['list', '--until', '2020-01-31'])).stdout).to.equal('(none)\n');
    expect((await service.run(['show', made.generation_id])).stdout).to.include('status:     succeeded');
  });

  it('numbers several results, and puts them into a folder by their ids', async () => {
    const { stdout } = await service.run(quick('boats', '--param', 'n=2', '--out', 'boats'));
    expect(stdout).to.equal('boats-1.png\nboats-2.png\n');
    const task = await service.json<Task>(quick('boats', '--param', 'n=2'));
    expect(task.files).to.deep.equal([`${task.generation_id}-1.png`, `${task.generation_id}-2.png`]);
    expect(task.files.every((file) => existsSync(at(file)))).to.equal(true);
  });

  it('prints one JSON document and nothing else with --json', async () => {
    const { code, stdout, stderr } = await service.run(quick('a tree', '--out', 'tree.png', '--json'));
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).to.deep.include({ status: 'succeeded', charged_credits: 1, files: ['tree.png'] });
  });

  it('refuses to overwrite before anything is spent, unless forced', async () => {
    writeFileSync(at('mine.png'), 'mine');
    writeFileSync(at('ours-2.png'), 'ours');
    const before = await balance();
    for (const out of ['mine.png', 'ours.png']) {
      const { code, stderr } = await service.run(quick('x', '--out', out));
      expect(code, stderr).to.equal(2);
      expect(stderr).to.match(
        /^darkroom: (mine|ours-2)\.png already exists; give --force to overwrite it, or another --out\.\n$/,
      );
    }
    const refusals: readonly (readonly [string, string])[] = [
      ['nowhere/x.png', 'There is no folder nowhere to write to.'],
      ['nowhere/', 'There is no folder nowhere/ to write to.'],
      ['mine.png/x.png', 'There is no folder mine.png to write to.'],
      ['-', '--out must be a file or a folder; results are not written to standard output.'],
      ['', '--out must be a file or a folder.'],
      [
        'x.mp4',
        'x.mp4 would hold png or jpeg or webp, so that it cannot end in .mp4; end it in .png or .jpg or .jpeg or .webp, or omit the ending.',
      ],
    ];
    for (const [out, sentence] of refusals) {
      expect(await service.run(quick('x', '--out', out)), out).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: `darkroom: ${sentence}\n`,
      });
    }
    const jpeg = await service.run(['generate', 'x', '--param', 'format=jpeg', '--out', 'x.png']);
    expect(jpeg).to.deep.equal({
      code: 2,
      stdout: '',
      stderr:
        'darkroom: x.png would hold jpeg, so that it cannot end in .png; end it in .jpg or .jpeg, or omit the ending.\n',
    });
    expect(await balance()).to.equal(before);
    expect((await service.run(quick('x', '--out', 'mine.png', '--force'))).code).to.equal(0);
    expect(readFileSync(at('mine.png')).subarray(0, 8)).to.deep.equal(PNG);
  });

  it('uploads references by their content, not by their file names', async () => {
    writeFileSync(at('day.txt'), await image('webp', 64, 64));
    writeFileSync(at('second.jpg'), await image('jpeg', 64, 64));
    const { code, stderr } = await service.run([
      'generate',
      'by night',
      '--param',
      'size=256x256',
      '--reference',
      'day.txt',
      '-r',
      'second.jpg',
      '--out',
      'night.png',
    ]);
    expect(code, stderr).to.equal(0);
    expect(stderr).to.include('uploading day.txt\nuploading second.jpg\n');
  });

  it('makes a video from a first frame', async () => {
    writeFileSync(at('first.png'), await image('png', 64, 64));
    const { code, stdout, stderr } = await service.run([
      'generate',
      'snow',
      '-m',
      'sandbox-video',
      '--start-frame',
      'first.png',
      '--out',
      'snow',
    ]);
    expect(code, stderr).to.equal(0);
    expect(stdout).to.equal('snow.mp4\n');
    expect(readFileSync(at('snow.mp4')).subarray(4, 8).toString('latin1')).to.equal('ftyp');
  });

  it('says why a generation failed, and exits with 4', async () => {
    const failing = quick('x', '--param', 'behaviour=fail');
    const { code, stdout, stderr } = await service.run(failing);
    expect({ code, stdout }).to.deep.equal({ code: 4, stdout: '' });
    expect(stderr).to.match(/^darkroom: The generation failed: .+ \(PROVIDER_REJECTED, 0 credits charged\)\.$/m);
    const failed = await service.json<Task>(failing);
    expect(failed).to.deep.include({ status: 'failed', charged_credits: 0, files: [] });
    const fetched = await service.run(['status', failed.generation_id, '--out', 'nothing.png']);
    expect(fetched.code).to.equal(4);
    expect(fetched.stderr).to.match(
      /^darkroom: Generation \S+ has nothing to download: it failed, .+ \(PROVIDER_REJECTED\)\.\n$/,
    );
  });

  it('returns the same generation for the same key, and is charged once', async () => {
    const again = quick('once', '--idempotency-key', 'intent-1');
    const [first, second] = [await service.json<Task>(again), await service.json<Task>([...again, '--force'])];
    expect(second.generation_id).to.equal(first.generation_id);
    const { entries } = await service.json<Ledger>(['ledger', service.accountId, '--limit', '1000']);
    expect(
      entries.filter(({ generation_id, kind }) => generation_id === first.generation_id && kind === 'charge'),
    ).to.have.lengthOf(1);
    const replayed = await service.run([...again, '--force']);
    expect(replayed.stderr).to.include(
      `accepted as ${first.generation_id}\ncreated before under this key; nothing new is charged\n`,
    );
    const other = await service.run(quick('another', '--idempotency-key', 'intent-1'));
    expect(other.code).to.equal(3);
    expect(other.stderr).to.match(/IDEMPOTENCY_PAYLOAD_MISMATCH, request/);
  });

  it('needs no folder to write to with --no-wait, as it writes nothing', async () => {
    const nowhere = (...args: string[]) =>
      new CliRun(at('removed'), ['generate', 'a boat', ...args], { environment: service.caller }).ended;
    expect(await nowhere('--no-wait')).to.include({ code: 0 });
    const { code, stderr } = await nowhere();
    expect({ code, stderr }).to.deep.equal({ code: 2, stderr: 'darkroom: There is no folder . to write to.\n' });
  });

  it('does not wait with --no-wait, and stops waiting with --timeout', async () => {
    const slow = quick('slow', '--param', 'delay_ms=60000');
    const { code, stdout } = await service.run([...slow, '--no-wait']);
    expect(code).to.equal(0);
    expect(await service.json<Task>(['status', stdout.trim()]))
      .to.have.property('status')
      .that.is.oneOf(['queued', 'running']);
    expect(await service.json<Task>(['cancel', stdout.trim()])).to.have.property('generation_id', stdout.trim());
    const late = await service.run([...slow, '--timeout', '0.2']);
    expect(late.code).to.equal(1);
    expect(late.stderr).to.match(
      /It was still (queued|running) when the waiting time was over\. Generation (\S{36}) continues; fetch it with: darkroom status \2 --out <path>\n$/,
    );
    expect(await service.json<{ error: object }>([...slow, '--timeout', '0.2']))
      .to.have.property('error')
      .that.includes.keys('message', 'generation_id');
  });

  it('cancels on Ctrl-C, waits for the end and exits with 130', async () => {
    const running = service.start(quick('x', '--param', 'behaviour=hang'));
    await running.until('stderr', '\nrunning\n');
    running.signal('SIGINT');
    const { code, stdout, stderr } = await running.ended;
    expect({ code, stdout }).to.deep.equal({ code: 130, stdout: '' });
    expect(stderr).to.match(/\ncancelling\ncancelled\ndarkroom: The generation was cancelled, 0 credits charged\.\n$/);
    const id = /accepted as (\S+)/.exec(stderr)?.[1] ?? '';
    expect(await service.json<Task>(['status', id])).to.deep.include({ status: 'cancelled', charged_credits: 0 });
    const fetched = await service.run(['status', id, '--out', 'nothing.png']);
    expect(fetched.code).to.equal(130);
    expect(fetched.stderr).to.equal(`darkroom: Generation ${id} has nothing to download: it was cancelled.\n`);
    expect((await service.run(['cancel', id])).stdout).to.match(/\n\nThe generation is cancelled\.\n$/);
  });

  it('exits immediately on a second Ctrl-C', async () => {
    const running = service.start(
      quick('x', '--param', 'behaviour=late_success_after_cancel', '--param', 'delay_ms=60000'),
    );
    await running.until('stderr', '\nrunning\n');
    running.signal('SIGINT');
    await running.until('stderr', '\ncancelling\n');
    running.signal('SIGINT');
    const { code, stderr } = await running.ended;
    expect(code).to.equal(130);
    const id = /accepted as (\S+)/.exec(stderr)?.[1] ?? '';
    // Its cancel may have been accepted or be in flight.
    const state = stderr.includes(' is being cancelled; ')
      ? 'is being cancelled'
      : 'continues unless the server has received the cancel';
    expect(
      stderr.endsWith(
        `\ndarkroom: Interrupted. Generation ${id} ${state}; fetch it with: darkroom status ${id} --out <path>\n`,
      ),
      stderr,
    ).to.equal(true);
    expect(await service.json<Task>(['status', id])).to.have.property('status', 'running');
    expect((await service.run(['cancel', id])).stdout).to.match(
      /\n\nCancel asked for; still running\. To see how it ends, run: darkroom status \S{36}\n$/,
    );
  });

  describe('over a link that loses answers', () => {
    let link: Server;
    let lost: string[];
    before((done) => {
      lost = [];
      link = linkTo(service, async (route, response, pass) => {
        const answer = await pass();
        // The service has done the work, but its answer is lost. The second request is refused; only the third gets
        // through.
        const times = lost.filter((before) => before === route).length;
        lost.push(route);
        if (times === 0) response.destroy();
        else if (times === 1) response.writeHead(503, { 'retry-after': '0' }).end();
        else response.writeHead(answer.status, answer.headers).end(answer.text);
      });
      link.listen(0, '127.0.0.1', done);
    });
    after(() => {
      link.close();
    });

    it('continues an upload whose answer to prepare or complete was lost', async () => {
      writeFileSync(at('far.png'), await image('png', 64, 64));
      const url = `http://127.0.0.1:${(link.address() as AddressInfo).port}`;
      const { code, stderr } = await service.run(
        quick('from afar', '--reference', 'far.png', '--out', 'afar.png', '--url', url),
      );
      expect(code, stderr).to.equal(0);
      expect(lost.filter((route) => route === 'POST /api/v1/developer/uploads')).to.have.lengthOf(3);
      expect(lost.filter((route) => route.endsWith('/complete'))).to.have.length.above(3);
      lost.length = 0;
    });

    it('sends the create again with the same key, and holds credits once', async () => {
      const count = async () =>
        (await service.json<Ledger>(['ledger', service.accountId, '--limit', '1000'])).entries.filter(
          ({ kind }) => kind === 'hold',
        ).length;
      const before = await count();
      const url = `http://127.0.0.1:${(link.address() as AddressInfo).port}`;
      const task = await service.json<Task>(quick('lost and found', '--out', 'found.png', '--url', url));
      expect(task.status).to.equal('succeeded');
      expect(lost.filter((route) => route === 'POST /api/v1/developer/generations')).to.have.lengthOf(3);
      expect(await count()).to.equal(before + 1);
    });
  });
});

// Goal: once a generation is accepted, the command waits longer than a restart takes, and then reports where to find
// the generation.
// Method: command lines and a service in this process, over a link that refuses chosen requests as a restarting server
// does.

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
    link = linkTo(service, async (route, response, pass) => {
      const kind = route.startsWith(`GET ${BASE}/`) ? 'polls' : route === `POST ${BASE}` ? 'creates' : undefined;
      if (kind === 'polls') polls += 1;
      if (kind !== undefined && away[kind] > 0) {
        away[kind] -= 1;
        response.writeHead(503, { 'retry-after': '0' }).end();
        return;
      }
      const { status, headers, text } = await pass();
      const shown = away.outputs > 0 ? text.replaceAll(`${service.url}/objects/`, `${service.url}/nowhere/`) : text;
      response.writeHead(status, headers).end(shown);
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
    return ` Generation ${id} ${state}; fetch it with: darkroom status ${id} --out <path> --url ${url}\n`;
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
