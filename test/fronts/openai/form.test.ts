import { expect } from 'chai';
import fc from 'fast-check';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { Spool } from '../../../apps/http/openai/spool.js';
import { sha256Of } from '../../fixtures/sha256.js';
import { parseAnswer, type RawAnswer, RawConnections, receivedOn } from '../http/host/raw-socket.js';
import { formBytes, FormServer, MAX_FILE_BYTES, type SentPart } from './form-server.js';

// Goal: a form is read completely or refused with one sentence, within its bounds of disk and time, and nothing of it stays on
// disk. Method: raw connections to a server with one endpoint that returns what it has read; the form is also compared
// with what was sent in random pieces. The disk is looked at through the open files of the process.

describe('the reader of forms', () => {
  const connections = new RawConnections();
  let folder: string;
  let server: FormServer;

  const open = async (options: Partial<Parameters<typeof FormServer.open>[0]> = {}) => {
    server = await FormServer.open({ folder, ...options });
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'forms-'));
  });
  afterEach(async () => {
    connections.close();
    await server.close();
    await until(async () => server.spool.heldBytes === 0 && (await openFilesIn(folder)).length === 0);
    await rm(folder, { recursive: true });
  });

  const headOf = (headers: Readonly<Record<string, string | number>>, boundary = 'edge-of-part') => {
    const all = {
      'Host': 'x',
      'Authorization': 'Bearer k',
      'Content-Type': `multipart/form-data; boundary=${boundary}`,
      'Connection': 'close',
      ...headers,
    };
    return `POST /v1/forms HTTP/1.1\r\n${Object.entries(all)
      .filter(([, value]) => value !== '')
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`;
  };

  /** Sends a request and returns its response. */
  const send = async (
    body: Uint8Array,
    {
      headers = {},
      boundary,
      pieces = [body],
    }: {
      readonly headers?: Readonly<Record<string, string | number>>;
      readonly boundary?: string;
      readonly pieces?: readonly Uint8Array[];
    } = {},
  ): Promise<RawAnswer> => {
    const socket = connections.open(server.port, { noDelay: true });
    const received = receivedOn(socket);
    const closed = once(socket, 'close');
    socket.write(headOf({ 'Content-Length': body.byteLength, ...headers }, boundary));
    for (const piece of pieces) {
      socket.write(piece);
      if (pieces.length > 1) await sleep(1);
    }
    await closed;
    return parseAnswer(received());
  };

  const codeOf = ({ status, body }: RawAnswer): unknown[] => {
    const { error } = JSON.parse(body) as { error: { code: string; param: string | null } };
    return [status, error.code, error.param];
  };

  it('reads texts and files in the order of the form', async () => {
    await open();
    const [first, second] = [bytesOf(MAX_FILE_BYTES), bytesOf(70_001)];
    const answer = await send(
      formBytes([
        { name: 'model', content: 'picture' },
        { name: 'image[]', content: first, filename: 'upload', headers: ['Content-Type: application/octet-stream'] },
        { name: 'tags[]', content: 'b' },
        { name: 'prompt', content: 'a sea, früh' },
        { name: 'tags[]', content: 'a' },
        { name: 'image', content: second, filename: 'a "b\\".png' },
        { name: 'mask', content: 'not a picture', filename: '' },
      ]),
    );
    expect(answer.status).to.equal(200);
    expect(JSON.parse(answer.body)).to.deep.equal({
      fields: { 'model': 'picture', 'tags[]': ['b', 'a'], 'prompt': 'a sea, früh' },
      files: [fileOf('image', first), fileOf('image', second), fileOf('mask', Buffer.from('not a picture'))],
    });
  });

  it('reads the same from any pieces and with any boundary', async () => {
    await open();
    const parts: SentPart[] = [
      { name: 'prompt', content: '--edge-of\r\n-part\r\n' },
      { name: 'tags[]', content: '--edge-of' },
      { name: 'tags[]', content: '' },
      { name: 'image', content: Buffer.concat([bytesOf(300), Buffer.from('\r\n--edge-of-par')]), filename: 'a.png' },
      { name: 'image[]', content: new Uint8Array(), filename: 'empty.png' },
      { name: 'quality', content: '' },
    ];
    const whole = JSON.parse((await send(formBytes(parts))).body) as object;
    await fc.assert(
      fc.asyncProperty(
        fc.stringMatching(/^[A-Za-z0-9'+_.-]{8,70}$/),
        fc.array(fc.nat(1_000), { maxLength: 12 }),
        async (boundary, cuts) => {
          const body = formBytes(parts, boundary);
          const at = [0, ...cuts.map((cut) => cut % body.byteLength).toSorted((a, b) => a - b), body.byteLength];
          const pieces = at.slice(1).map((end, index) => body.subarray(at[index], end));
          expect(JSON.parse((await send(body, { boundary, pieces })).body)).to.deep.equal(whole);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('takes a part without content and name of file for a file that nobody chose', async () => {
    await open();
    const answer = await send(formBytes([{ name: 'mask', content: '', filename: '' }]));
    expect(JSON.parse(answer.body)).to.deep.equal({ fields: {}, files: [] });
  });

  it('takes a text for a file where only a file may have its name', async () => {
    await open();
    const answer = await send(formBytes([{ name: 'image', content: 'data:,x' }]));
    expect(JSON.parse(answer.body)).to.deep.equal({ fields: {}, files: [fileOf('image', Buffer.from('data:,x'))] });
  });

  const TEXT = (name: string, content: string | Uint8Array = 'x'): SentPart => ({ name, content });
  const FILE = (name: string, content: string | Uint8Array = 'x'): SentPart => ({ name, content, filename: 'f' });
  const manyBytes = new Uint8Array(MAX_FILE_BYTES + 1);

  for (const [what, parts, refusal] of [
    ['a text that is sent twice', [TEXT('n'), TEXT('n')], [400, 'invalid_value', 'n']],
    ['a mask that is sent twice', [FILE('mask'), FILE('mask')], [400, 'invalid_value', 'mask']],
    [
      'more files than the endpoint takes',
      'abcd'.split('').map(() => FILE('image[]')),
      [400, 'invalid_value', 'image'],
    ],
    ['a file with an unknown name', [FILE('markup')], [400, 'unknown_parameter', 'markup']],
    ['a file in the place of a text', [FILE('prompt')], [400, 'unknown_parameter', 'prompt']],
    ['a file that is too large', [FILE('image', manyBytes)], [413, 'file_too_large', 'image']],
    ['texts that are too large', [TEXT('a', manyBytes), TEXT('b', manyBytes)], [413, 'file_too_large', null]],
    ['a text that is not UTF-8', [TEXT('prompt', Uint8Array.of(0xff, 0x61))], [400, 'invalid_value', 'prompt']],
    ['too many parts', Array.from({ length: 101 }, (_, at) => TEXT(`f${at}`)), [400, 'invalid_body', null]],
    ['a part without a name', [TEXT('')], [400, 'invalid_body', null]],
    [
      'a part in base64',
      [{ ...FILE('image', 'eA=='), headers: ['Content-Transfer-Encoding: base64'] }],
      [400, 'invalid_body', null],
    ],
  ] as const) {
    it(`refuses ${what}`, async () => {
      await open();
      expect(codeOf(await send(formBytes(parts)))).to.deep.equal(refusal);
    });
  }

  const CONTENT = 'Content-Disposition: form-data; name="a"\r\n\r\nb';
  for (const [what, body] of [
    ['an empty body', ''],
    ['a body without its boundary', 'model=picture'],
    ['a form that is cut after a part', `--edge-of-part\r\n${CONTENT}\r\n`],
    ['a form that is cut within a file', `--edge-of-part\r\n${CONTENT.replace('"a"', '"image"; filename="x"')}`],
    ['a form that is cut within a header', '--edge-of-part\r\nContent-Dispo'],
    ['a part without the end of its header', '--edge-of-part\r\nContent-Disposition: form-data\r\n--edge-of-part--'],
    ['a part without a disposition', '--edge-of-part\r\nContent-Type: text/plain\r\n\r\nb\r\n--edge-of-part--'],
    ['an attachment', `--edge-of-part\r\n${CONTENT.replace('form-data', 'attachment')}\r\n--edge-of-part--`],
    ['names of the language', `--edge-of-part\r\n__proto__: x\r\nconstructor: y\r\n\r\nb\r\n--edge-of-part--`],
    ['a header without end', `--edge-of-part\r\n${'x'.repeat(100_000)}`],
  ] as const) {
    it(`refuses ${what}`, async () => {
      await open();
      expect(codeOf(await send(Buffer.from(body)))).to.deep.equal([400, 'invalid_body', null]);
    });
  }

  it('keeps fields with names of the language apart from those of objects', async () => {
    await open();
    const { body } = await send(formBytes([TEXT('__proto__'), TEXT('constructor')]));
    expect(Object.keys((JSON.parse(body) as { fields: object }).fields)).to.deep.equal(['__proto__', 'constructor']);
  });

  for (const [what, type] of [
    ['another type', 'application/json'],
    ['a type without a boundary', 'multipart/form-data'],
    ['no type', ''],
  ] as const) {
    it(`refuses ${what} before the body`, async () => {
      await open();
      const answer = await send(formBytes([TEXT('a')]), { headers: { 'Content-Type': type } });
      expect(codeOf(answer)).to.deep.equal([400, 'invalid_body', null]);
    });
  }

  it('is to be sent again where the disk is full', async () => {
    await open();
    const openFile = server.spool.open.bind(server.spool);
    const append = () => Promise.reject(Object.assign(new Error('write'), { code: 'ENOSPC' }));
    server.spool.open = async () => Object.assign(await openFile(), { append });
    const answer = await send(formBytes([FILE('image', bytesOf(1_000))]));
    expect([answer.status, answer.headers.get('retry-after')]).to.deep.equal([503, '5']);
  });

  it('frees the disk of a client that leaves in the middle of a file', async () => {
    await open();
    const body = formBytes([FILE('image', bytesOf(150_000))]);
    const socket = connections.open(server.port);
    socket.write(headOf({ 'Content-Length': body.byteLength }));
    socket.write(body.subarray(0, 100_000));
    await until(async () => (await openFilesIn(folder)).length === 1);
    socket.destroy();
    await until(async () => server.spool.heldBytes === 0);
  });

  it('refuses by the head a body that is too large, one without a credential, and one for which there is no room', async () => {
    await open({ maxBytes: 400_000 });
    const waiting = connections.open(server.port);
    waiting.write(headOf({ 'Content-Length': 300_000 }));
    await until(async () => server.spool.heldBytes === 300_000);
    for (const [headers, refusal] of [
      [{ 'Content-Length': 400_001 }, [413, 'file_too_large', null]],
      [{ 'Content-Length': 100_001 }, [503, 'service_unavailable', null]],
      [{ 'Content-Length': '', 'Transfer-Encoding': 'chunked' }, [503, 'service_unavailable', null]],
      [{ 'Content-Length': 100, 'Authorization': '' }, [401, 'invalid_api_key', null]],
    ] as const) {
      const answer = await send(new Uint8Array(), { headers: { Expect: '100-continue', ...headers } });
      expect(codeOf(answer)).to.deep.equal(refusal);
      if (refusal[0] === 503) expect(answer.headers.get('retry-after')).to.equal('5');
    }
    expect(await openFilesIn(folder)).to.deep.equal([]);
  });

  it('leaves room for the forms of other accounts', () => {
    const spool = new Spool({ folder, maxBytes: 400 });
    spool.reserve('a', 60);
    expect(() => spool.reserve('a', 41)).to.throw('of this account');
    spool.reserve('a', 40);
    // More for a form that is there already, and a first form of any size.
    expect(() => spool.reserve('a', 1, 60)).to.throw('of this account');
    spool.release('a', 40);
    spool.reserve('a', 100, 60);
    spool.reserve('b', 240);
    expect(() => spool.reserve('c', 1)).to.throw('Too many files are being received');
    spool.release('a', 160);
    spool.release('b', 240);
    expect(spool.heldBytes).to.equal(0);
    spool.reserve('a', 400);
  });

  it('asks a client that waits for its body once the head is accepted', async () => {
    await open();
    const socket = connections.open(server.port);
    const received = receivedOn(socket);
    const body = formBytes([TEXT('a')]);
    socket.write(headOf({ 'Content-Length': body.byteLength, 'Expect': '100-continue' }));
    await until(async () => received().startsWith('HTTP/1.1 100 Continue\r\n\r\n'));
    socket.write(body);
    await once(socket, 'close');
    expect(received().split('\r\n\r\n')[1]).to.match(/^HTTP\/1.1 200 /);
  });

  it('reads a body in chunks and refuses it when it is too large', async () => {
    await open({ maxBytes: 100_000 });
    const chunked = (bytes: Uint8Array) =>
      Buffer.concat([Buffer.from(`${bytes.byteLength.toString(16)}\r\n`), bytes, Buffer.from('\r\n0\r\n\r\n')]);
    const headers = { 'Content-Length': '', 'Transfer-Encoding': 'chunked' };
    const small = await send(chunked(formBytes([FILE('image', bytesOf(50_000))])), { headers });
    expect(small.status).to.equal(200);
    const large = await send(chunked(formBytes([FILE('image', bytesOf(120_000))])), { headers });
    expect(codeOf(large)).to.deep.equal([413, 'file_too_large', null]);
  });

  it('refuses a body that arrives slowly, and none that arrives at the least rate', async () => {
    await open({ bodyTimeoutMs: 100 });
    const body = formBytes([FILE('image', bytesOf(60_000))]);
    const slow = await send(body, { pieces: [body.subarray(0, 100)] });
    expect(codeOf(slow)).to.deep.equal([408, 'request_timeout', null]);
    const socket = connections.open(server.port);
    const received = receivedOn(socket);
    socket.write(headOf({ 'Content-Length': body.byteLength }));
    for (let at = 0; at < body.byteLength; at += 20_000) {
      socket.write(body.subarray(at, at + 20_000));
      await sleep(150);
    }
    await until(async () => received().startsWith('HTTP/1.1 200 '));
  });

  it('refuses a body that arrives in tiny pieces', async () => {
    await open();
    const piece = Buffer.from('1\r\nx\r\n');
    const answer = await send(Buffer.concat(Array.from({ length: 3_000 }, () => piece)), {
      headers: { 'Content-Length': '', 'Transfer-Encoding': 'chunked' },
    });
    expect(codeOf(answer)).to.deep.equal([400, 'invalid_body', null]);
  });

  it('leaves no file when the process is killed, and removes one that was left before its name was removed', async () => {
    const left = 'darkroom-0192f3c4-aaaa-7bbb-8ccc-0123456789ab';
    await writeFile(join(folder, left), 'x');
    await writeFile(join(folder, 'darkroom.db'), 'x');
    await open();
    const child = spawn(process.execPath, [fileURLToPath(new URL('form-process.js', import.meta.url)), folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [port] = (await once(child.stdout, 'data')) as [Buffer];
    const socket = connections.open(Number(port));
    const body = formBytes([FILE('image', bytesOf(150_000))]);
    socket.write(headOf({ 'Content-Length': body.byteLength }));
    socket.write(body.subarray(0, 100_000));
    // Before its name is removed a kill leaves it, for the next start to remove.
    await until(async () => (await openFilesIn(folder, child.pid)).some((path) => path.endsWith(' (deleted)')));
    const closed = once(child, 'exit');
    child.kill('SIGKILL');
    await closed;
    expect(await readdir(folder)).to.deep.equal(['darkroom.db']);
  });
});

function bytesOf(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, at) => (at * 31 + (at >> 8)) % 256));
}

function fileOf(param: string, bytes: Uint8Array): object {
  const sha256 = sha256Of(bytes);
  return { param, byteSize: bytes.byteLength, sha256, stored: sha256 };
}

/** Files of the folder that a process has open, with or without a name. */
async function openFilesIn(folder: string, pid = process.pid): Promise<string[]> {
  const links = await readdir(`/proc/${pid}/fd`).catch(() => []);
  const paths = await Promise.all(links.map((link) => readlink(`/proc/${pid}/fd/${link}`).catch(() => '')));
  return paths.filter((path) => path.startsWith(folder));
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(5);
}
