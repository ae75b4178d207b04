import { expect } from 'chai';
import type { Command } from 'commander';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { readParameters } from '../../../apps/cli/client/generation-input.js';
import { readTime } from '../../../apps/cli/commands/keys.js';
import { createProgram } from '../../../apps/cli/program.js';
import type { JsonObject } from '../../../core/json.js';
import { CliRun, quietIo } from '../../harness/cli-run.js';
import { CliService } from '../../harness/cli-service.js';
import { freePort } from '../../servers/free-port.js';

// Goal: a command reports in one sentence what went wrong, with an exit code that says whose fault it was; keys stay
// with their owner.
// Method: command lines run in this process: a table of invalid ones, and logins whose files are checked afterwards.

describe('command line', () => {
  let service: CliService;
  before(async () => {
    service = await CliService.start();
  });
  after(() => service.stop());

  /** The sentences on stderr for command lines; `…` stands for any text. */
  function answers(
    code: number,
    sentences: Readonly<Record<string, string>>,
    environment: Record<string, string> = {},
  ) {
    const others = Object.keys(environment).map((name) => ` with another ${name}`);
    for (const [line, sentence] of Object.entries(sentences))
      it(`answers darkroom ${line}${others.join('')} with ${code}`, async () => {
        writeFileSync(join(service.folder, 'words.txt'), 'no picture');
        writeFileSync(join(service.folder, 'words.png'), 'no picture');
        const args = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
        const { stderr, ...ran } = await service.run(args, { environment });
        const parts = sentence.split('…').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`));
        expect(stderr.replaceAll(/^(?:uploading|The model is) .*\n/gm, ''))
          .to.match(new RegExp(`^darkroom: ${parts.join('.+')}\n$`))
          .and.not.to.match(/\n {4}at /);
        expect(ran).to.deep.equal({ code, stdout: '' });
      });
  }
  answers(2, {
    'develop': "unknown command 'develop'",
    'generate x --colour': "unknown option '--colour'",
    'generate a lighthouse':
      "too many arguments for 'generate'. Expected 1 argument but got 2. Put the prompt in quotes.",
    'estimate a lighthouse at dusk':
      "too many arguments for 'estimate'. Expected 1 argument but got 4. Put the prompt in quotes.",
    'serve --port 18101': "unknown option '--port'; set DARKROOM_REST_PORT, or rest.port in darkroom.yaml",
    "generate ''": 'The prompt must not be empty.',
    'generate x --timeout soon': '…It must be a number of seconds above 0.',
    'generate x --model none': 'There is no model none; the server has sandbox-image, ….',
    'generate x --param n': '--param must be written as name=value, not n.',
    'generate x --param n=two': 'The parameter n must be an integer, not two.',
    'generate x --reference none.png': 'There is no file none.png.',
    'generate x --reference words.txt': 'words.txt must be one of image/png, image/jpeg, image/webp.',
    'generate x --start-frame words.png': 'sandbox-image does not take a start_frame.',
    'generate x -r words.png -r ./words.png': './words.png is given twice; give each reference_image once.',
    'list --status done': '…It must be one of queued, …',
    'list --limit 101': '…It must be an integer from 1 to 100.',
    'list --since soon': 'A time is written as now, 90d, …, not soon.',
    "generate x --idempotency-key 'a b'": '--idempotency-key must be 1 to 255 visible ASCII characters.',
    'credits --url ftp://x':
      "The server's address must be an http or https URL, such as http://127.0.0.1:8080, not ftp://x.",
    'grants create nobody 5': 'account_id must be a UUID.',
    'grants create nobody 5.5': 'Credits must be a whole number, not 5.5.',
    'grants create nobody 99999999999999999':
      'Credits must be from -9007199254740991 to 9007199254740991, not 99999999999999999.',
    'init --account x --credits 9007199254740992':
      '--credits must be a whole number from 0 to 9007199254740991, not 9007199254740992.',
    'keys expire nothing soon': 'A time is written as now, 90d, …, not soon.',
    'grants create 0190a5c2-3b7e-7c11-8a50-5f2d9c6f1e02 -5': 'There is no account ….',
    "accounts create ' '": 'A name must have 1 to 100 characters, none of them a control character.',
    'accounts list --cursor there': 'A page token must come from an earlier page of the same list.',
    'ledger nobody': 'account_id must be a UUID.',
  });
  answers(3, {
    'generate x --param n=9': '…n must be at most 4… (FIELD_INVALID, request …)',
    'generate x --reference words.png': 'words.png: The file … (FIELD_INVALID, request …)',
    'status nothing': 'There is no such generation. (TASK_NOT_FOUND, request …)',
    'show nothing': 'There is no such generation. (TASK_NOT_FOUND, request …)',
    'list --cursor there': '… (FIELD_INVALID, request …)',
  });
  answers(
    3,
    {
      'credits':
        'The credential is not valid. (DEVELOPER_TOKEN_INVALID, request …) The key is from DARKROOM_API_KEY: set another, or unset it and run darkroom login --url http:…; on the server, darkroom keys create <app_id> --name <name> makes one.',
      'generate x':
        'The credential is not valid. (DEVELOPER_TOKEN_INVALID, request …) The key is from DARKROOM_API_KEY: …',
      'webhooks list':
        'The credential is not valid. (DEVELOPER_TOKEN_INVALID, request …) The key is from DARKROOM_API_KEY: …',
    },
    { DARKROOM_API_KEY: 'svc_live_wrong' },
  );
  answers(
    2,
    { credits: 'There is no API key for http:…; run darkroom login --url http:…, or set DARKROOM_API_KEY.' },
    { DARKROOM_API_KEY: '' },
  );
  answers(1, {
    'serve --config .': '.: This is a folder; a file is needed.',
    'catalog check none.yaml': 'none.yaml: There is no such file.',
    'serve --config none.yaml': 'none.yaml: There is no such file.',
  });
  answers(
    1,
    { credits: '. is a folder; DARKROOM_PROFILE must name a file.' },
    { DARKROOM_PROFILE: '.', DARKROOM_API_KEY: '' },
  );
  answers(
    1,
    { serve: '2 things are wrong:\nDARKROOM_REST_PORT must be …\nDARKROOM_LOG_LEVEL must be …' },
    { DARKROOM_REST_PORT: 'x', DARKROOM_LOG_LEVEL: 'y' },
  );
  for (const command of ['accounts show', 'apps list', 'keys list', 'ledger'])
    answers(2, {
      [`${command} 0190a5c2-3b7e-7c11-8a50-5f2d9c6f1e02`]: 'There is no account 0190a5c2-3b7e-7c11-8a50-5f2d9c6f1e02.',
    });

  it('lists the Apps of the only account without an id', async () => {
    const { code, stdout } = await service.run(['apps', 'list']);
    expect({ code, lines: stdout.split('\n').length }).to.deep.equal({ code: 0, lines: 3 });
  });

  it('answers darkroom (nothing) with 2', async () => {
    const { stderr, ...ran } = await service.run([]);
    expect(stderr)
      .to.match(/^Usage: darkroom/)
      .and.not.to.match(/\n {4}at /);
    expect(ran).to.deep.equal({ code: 2, stdout: '' });
  });

  it('puts a refusal on stdout as JSON when asked for JSON', async () => {
    const { code, stdout } = await service.run(['status', 'nothing', '--json']);
    expect(code).to.equal(3);
    expect(JSON.parse(stdout))
      .to.have.property('error')
      .that.includes({ code: 'TASK_NOT_FOUND' })
      .and.has.property('request_id');
  });

  it('names a server that cannot be reached', async () => {
    const { code, stderr } = await service.run(['models', '--url', 'http://no-such-host.invalid']);
    expect(code).to.equal(1);
    expect(stderr).to.match(/^darkroom: http:\/\/no-such-host\.invalid cannot be reached: .+\.\n$/);
  });

  it('says how to start a server, or name another, where nothing listens', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    expect((await service.run(['estimate', 'x', '--url', url])).stderr).to.equal(
      `darkroom: ${url} cannot be reached: nothing listens there. Start one with darkroom serve, or name another with --url.\n`,
    );
  });

  it('says so when a server other than Darkroom answers', async () => {
    const other = createServer((_, response) => {
      response.end('<h1>hello</h1>');
    });
    await once(other.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    const ran = await service.run(['models', '--url', url]);
    other.close();
    expect(ran).to.deep.equal({
      code: 1,
      stdout: '',
      stderr: `darkroom: ${url} answered with status 200 and not as a Darkroom service does; check the address.\n`,
    });
  });

  it('prints nothing of a hostile server that moves a cursor or that a shell would run', async () => {
    const hostile = '$(id)\u001b[2J\u009b2J\u202e\r';
    const task = {
      generation_id: hostile,
      status: hostile,
      model_key: hostile,
      created_at: hostile,
      reserved_credits: 1,
      outputs: [{ media_type: hostile, url: hostile }],
    };
    const model = {
      model_key: hostile,
      display_name: hostile,
      modality: hostile,
      description: hostile,
      operations: [hostile],
      limits: { max_outputs: 1, max_reference_uploads: 1, reference_roles: [hostile] },
      input_schema: { properties: { [hostile]: { type: hostile } } },
    };
    const envelope = { success: true, code: 'OK', message: '', request_id: 'r' };
    const data: Readonly<Record<string, unknown>> = {
      models: { models: [model] },
      generations: { generations: [task], next_cursor: hostile },
      cancel: task,
      estimate: { estimated_credits: 1, currency: hostile },
    };
    const server = createServer(({ url = '' }, response) => {
      const [, name = ''] = /\/(\w+)(?:\?.*)?$/.exec(url) ?? [];
      const { [name]: found } = data;
      const refusal = { ...envelope, success: false, code: hostile, message: hostile, request_id: hostile };
      response.statusCode = found === undefined ? 404 : 200;
      response.end(JSON.stringify(found === undefined ? refusal : { ...envelope, data: found }));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const lines = ['models', 'models x', 'list', 'cancel x', 'show x', 'estimate x', 'estimate x --model y'];
    const printed = new Map<string, string>();
    for (const line of lines) {
      const { stdout, stderr } = await service.run([...line.split(' '), '--url', url]);
      printed.set(line, stdout + stderr);
      expect(stdout + stderr, line)
        .to.include('$(id)')
        .and.not.to.match(/[^\P{C}\n]/u);
    }
    server.close();
    expect(printed.get('list')).to.include("--cursor '$(id)");
    expect(printed.get('cancel x')).to.include("status '$(id)");
  });

  it('keeps a piped key where only its owner can read it, and uses it', async () => {
    const profile = join(service.folder, 'kept', 'profile.json');
    const environment = { DARKROOM_PROFILE: profile, DARKROOM_API_KEY: '', DARKROOM_URL: '' };
    const wrong = await service.run(['login', '--url', service.url], { environment, stdin: 'svc_live_wrong\n' });
    expect(wrong.code).to.equal(3);
    expect(wrong.stderr).to.match(
      /^darkroom: The credential is not valid\. \(DEVELOPER_TOKEN_INVALID, request \S+\)\n$/,
    );
    expect(existsSync(profile)).to.equal(false);

    const { code, stdout } = await service.run(['login', '--url', `${service.url}/`], {
      environment,
      stdin: `${service.secret}\n`,
    });
    expect({ code, stdout }).to.deep.equal({
      code: 0,
      stdout: `Logged in to ${service.url}. The account has 10000 credits.\n`,
    });
    expect(statSync(profile).mode & 0o777).to.equal(0o600);
    expect(JSON.parse(readFileSync(profile, 'utf8'))).to.deep.equal({
      last_url: service.url,
      keys: { [service.url]: service.secret },
    });
    expect((await service.run(['credits'], { environment })).stdout).to.equal('10000 credits\n');

    chmodSync(profile, 0o640);
    const open = await service.run(['credits'], { environment });
    expect(open).to.deep.equal({
      code: 1,
      stdout: '',
      stderr: `darkroom: ${profile} holds API keys and can be read by others; run chmod 600 ${profile} first.\n`,
    });
    chmodSync(profile, 0o600);
    writeFileSync(profile, '{');
    expect((await service.run(['credits'], { environment })).stderr).to.equal(
      `darkroom: ${profile} is not a profile; remove it and log in again.\n`,
    );
  });

  it('names the profile that has a key of another installation, and how to replace it', async () => {
    const profile = join(service.folder, 'stale.json');
    writeFileSync(profile, JSON.stringify({ keys: { [service.url]: 'svc_live_stale' } }), { mode: 0o600 });
    const environment = { DARKROOM_PROFILE: profile, DARKROOM_API_KEY: '', DARKROOM_URL: '' };
    const { code, stderr } = await service.run(['credits', '--url', service.url], { environment });
    expect(code).to.equal(3);
    expect(stderr).to.include(`The key is from ${profile}: replace it with darkroom login --url ${service.url}; `);
    expect(stderr).not.to.include('svc_live_stale');
  });

  it('stores the key below XDG_CONFIG_HOME, and sends it to no other server', async () => {
    const environment = { XDG_CONFIG_HOME: join(service.folder, 'xdg'), DARKROOM_API_KEY: '' };
    expect((await service.run(['login'], { environment, stdin: service.secret })).code).to.equal(0);
    expect(existsSync(join(service.folder, 'xdg', 'darkroom', 'profile.json'))).to.equal(true);
    expect((await service.run(['credits', '--url', 'http://127.0.0.1:9'], { environment })).stderr).to.match(
      /^darkroom: There is no API key for http:\/\/127\.0\.0\.1:9;/,
    );
  });

  it('keeps the key of a first start for its owner', async () => {
    const profile = join(service.folder, 'first-start.json');
    expect(statSync(profile).mode & 0o777).to.equal(0o600);
    const environment = { DARKROOM_PROFILE: profile, DARKROOM_API_KEY: '', DARKROOM_URL: '' };
    expect((await service.run(['credits'], { environment })).stdout).to.equal('10000 credits\n');
  });

  /** The output of a first start in a new folder, with an existing profile. */
  async function firstStart(name: string, profile: string): Promise<string> {
    const { port } = new URL(service.url);
    const environment = {
      DARKROOM_DATA_FOLDER: name,
      DARKROOM_PROFILE: profile,
      DARKROOM_REST_PORT: '0',
      DARKROOM_REST_PUBLIC_URL: `http://pictures.example:${port}`,
    };
    const server = new CliRun(service.folder, ['serve'], { environment });
    await server.until('stdout', 'or, to have it saved');
    server.signal('SIGTERM');
    const { stdout, stderr } = await server.ended;
    log = stderr;
    return stdout;
  }
  let log = '';

  it('reports how a first start has changed the profile', async () => {
    const profile = join(service.folder, 'shared.json');
    const url = `http://pictures.example:${new URL(service.url).port}`;
    writeFileSync(profile, JSON.stringify({ last_url: 'http://127.0.0.1:1', keys: { [url]: 'svc_live_old' } }), {
      mode: 0o600,
    });
    const shown = await firstStart('again', profile);
    expect(shown)
      .to.include('The key stored for this address before is replaced')
      .and.to.include(`--url ${url}`)
      .and.not.include('svc_live_old');
    const kept = JSON.parse(readFileSync(profile, 'utf8')) as { last_url: string; keys: Record<string, string> };
    expect(kept.last_url, 'the usual server stays the one it was').to.equal('http://127.0.0.1:1');
    expect(kept.keys[url]).to.match(/^svc_live_[0-9A-Za-z]{49}$/);
    expect(shown).not.to.include(kept.keys[url]);
  });

  it('offers no command that needs a key which could not be kept', async () => {
    writeFileSync(join(service.folder, 'in-the-way'), '');
    const shown = await firstStart('unkept', join(service.folder, 'in-the-way', 'profile.json'));
    expect(shown)
      .to.match(
        /\nkey=\$\(cat '\S+unkept\/first-key'\)\ncurl [^]+or, to have it saved: DARKROOM_API_KEY="\$key" darkroom generate .+ --url http\S+\n$/,
      )
      .and.not.include('is kept in');
    expect(log).to.include('The key is not stored for the command line.');
  });

  it('has help with an example for every command', async () => {
    const leaves = (command: Command): Command[] =>
      command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
    for (const command of leaves(createProgram(quietIo()))) {
      let help = '';
      command
        .configureOutput({
          writeOut: (text) => {
            help += text;
          },
        })
        .outputHelp();
      expect(help, command.name()).to.match(/Examples?:\n {2}\$ .*darkroom /);
      expect(command.description(), command.name()).not.to.equal('');
      expect(help, command.name()).not.to.include('(default: [])');
    }
    const { code, stdout } = await new CliRun(service.folder, ['--help']).ended;
    expect(code).to.equal(0);
    expect(stdout).to.match(/^Usage: darkroom/);
  });
});

// Goal: the text after --param becomes a value of the type that the model requires; any other text is refused.
// Method: tables of inputs with the expected value or error message.

const SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    n: { type: 'integer' },
    strength: { type: 'number' },
    tiled: { type: 'boolean' },
    style: { type: 'string' },
    box: { type: 'object' },
    seed: { type: ['integer', 'null'] },
    tag: { type: ['string', 'null'] },
    level: { enum: [1, 'high'] },
  },
};

describe('--param', () => {
  const VALUES: readonly (readonly [string, JsonObject])[] = [
    ['n=3', { n: 3 }],
    ['n=-3', { n: -3 }],
    ['strength=0.5', { strength: 0.5 }],
    ['strength=1e-3', { strength: 0.001 }],
    ['tiled=true', { tiled: true }],
    ['tiled=false', { tiled: false }],
    ['style=3', { style: '3' }],
    ['style=', { style: '' }],
    ['style=a=b', { style: 'a=b' }],
    ['box={"x":1}', { box: { x: 1 } }],
    ['seed=null', { seed: null }],
    ['seed=7', { seed: 7 }],
    ['tag=7', { tag: '7' }],
    ['tag=null', { tag: null }],
    ['level=high', { level: 'high' }],
    ['level=1', { level: 1 }],
  ];
  for (const [pair, value] of VALUES) {
    it(`reads ${pair}`, () => {
      expect(readParameters([pair], SCHEMA)).to.deep.equal(value);
    });
  }

  const FAULTS: readonly (readonly [readonly string[], string])[] = [
    [['n'], '--param must be written as name=value, not n.'],
    [['=3'], '--param must be written as name=value, not =3.'],
    [['n=3.5'], 'The parameter n must be an integer, not 3.5.'],
    [['n='], 'The parameter n must be an integer, not empty.'],
    [['strength=much'], 'The parameter strength must be a number, not much.'],
    [['tiled=yes'], 'The parameter tiled must be true or false, not yes.'],
    [['box={'], 'The parameter box must be written as JSON.'],
    [['n=1', 'n=2'], '--param n is given twice.'],
    [
      ['toString=1'],
      'There is no parameter toString; the model takes n, strength, tiled, style, box, seed, tag, level.',
    ],
  ];
  for (const [pairs, message] of FAULTS) {
    it(`refuses ${pairs.join(' ')}`, () => {
      expect(() => readParameters(pairs, SCHEMA)).to.throw(message);
    });
  }
});

describe('a time on the command line', () => {
  const NOW = Date.UTC(2030, 0, 1);
  const VALUES: readonly (readonly [string, number])[] = [
    ['now', NOW],
    ['30m', NOW + 1_800_000],
    ['12h', NOW + 43_200_000],
    ['90d', NOW + 7_776_000_000],
    ['2030-01-31', Date.UTC(2030, 0, 31)],
    ['2030-01-31T12:00Z', Date.UTC(2030, 0, 31, 12)],
    ['2030-01-31T12:00:00.250+02:00', Date.UTC(2030, 0, 31, 10, 0, 0, 250)],
  ];
  for (const [text, at] of VALUES) {
    it(`reads ${text}`, () => {
      expect(readTime(text, NOW)).to.equal(at);
    });
  }
  for (const text of ['', 'soon', '90', '-1d', '2030-13-01', '31.01.2030', '2030-01-31T12:00']) {
    it(`refuses ${text || 'nothing'}`, () => {
      expect(() => readTime(text, NOW)).to.throw('A time is written as');
    });
  }
});
