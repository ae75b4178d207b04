/**
 * Goal: the image runs the project's program, as an unprivileged user, and contains nothing that it does not need.
 * Method: read deploy/Dockerfile instruction by instruction; compare the files that it copies, its pinned versions and
 * its numbers with the project; run the image's own scripts.
 */
import { expect } from 'chai';
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join, posix } from 'node:path';
import { isPinned, loadAs, pathOf, textOf } from './chart-files.js';

interface Instruction {
  readonly name: string;
  readonly rest: string;
}

const stages = stagesOf(textOf('deploy/Dockerfile'));
const [last = []] = stages.slice(-1);
const { version } = JSON.parse(textOf('package.json')) as { version: string };

function stagesOf(text: string): Instruction[][] {
  const lines = text
    .replace(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const all = lines.map((line) => ({ name: line.split(' ')[0] ?? '', rest: line.replace(/^\S+\s+/, '') }));
  return all.reduce<Instruction[][]>(
    (found, instruction) =>
      instruction.name === 'FROM'
        ? [...found, [instruction]]
        : [...found.slice(0, -1), [...(found.at(-1) ?? []), instruction]],
    [[]],
  );
}

function restsOf(name: string, stage: readonly Instruction[] = last): string[] {
  return stage.filter((instruction) => instruction.name === name).map(({ rest }) => rest);
}

interface Copied {
  /** The path in the project. */
  readonly source: string;
  /** The path in the image. */
  readonly target: string;
}

/** The paths that stages copy from the project, not from another stage. A `*` stands for files of a folder. */
function copied(among: readonly (readonly Instruction[])[] = stages): Copied[] {
  return among
    .flatMap((stage) => restsOf('COPY', stage))
    .filter((rest) => !rest.startsWith('--from='))
    .flatMap((rest) => {
      const words = rest.split(' ').filter((word) => !word.startsWith('--'));
      const to = posix.resolve('/app', words.at(-1) ?? '');
      const isFolder = rest.endsWith('/');
      return words
        .slice(0, -1)
        .flatMap(namedBy)
        .map((source) => ({ source, target: isFolder ? posix.join(to, basename(source)) : to }));
    });
}

function namedBy(pattern: string): string[] {
  const [before = '', after] = pattern.split('*');
  if (after === undefined) return [pattern];
  const files = readdirSync(pathOf(before)).filter((name) => name.endsWith(after));
  expect(files, pattern).to.not.deep.equal([]);
  return files.map((name) => before + name);
}

describe('deploy/Dockerfile', () => {
  it('bases every stage on the same image, with a pinned version', () => {
    const [before = [], ...built] = stages;
    expect(restsOf('ARG', before)).to.have.length(1);
    expect(isPinned(restsOf('ARG', before)[0]?.split('=')[1] ?? '')).to.equal(true);
    expect(built.map(([from]) => from?.rest.split(' ')[0])).to.deep.equal(['${NODE_IMAGE}', '${NODE_IMAGE}']);
  });

  it('copies only existing files that .dockerignore includes', () => {
    const allowed = textOf('deploy/Dockerfile.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    for (const { source } of copied()) {
      expect(existsSync(pathOf(source)), source).to.equal(true);
      expect(
        allowed.some((path) => `${source.replace(/^\.\//, '')}/`.startsWith(`${path}/`)),
        source,
      ).to.equal(true);
    }
    expect(allowed.filter((path) => !existsSync(pathOf(path)))).to.deep.equal([]);
  });

  it('builds every part of the program that runs, and installs its production dependencies', () => {
    const runs = stages.flatMap((stage) => restsOf('RUN', stage));
    expect(runs).to.include(
      'npm prune --omit=dev --ignore-scripts --offline && node deploy/check-packages.mjs --omit=dev --import',
    );
    const others = ['apps', 'apps/cli'].flatMap((folder) => {
      const { references } = JSON.parse(textOf(`${folder}/tsconfig.json`)) as {
        references: readonly { path: string }[];
      };
      return references.map(({ path }) => posix.join(folder, path)).filter((path) => !path.startsWith('apps'));
    });
    expect(copied().map(({ source }) => source)).to.include.members(['apps', ...others]);
  });

  it('ends by running the program, as the user of the image', () => {
    const [command] = restsOf('RUN').slice(-1);
    expect(command).to.equal('["darkroom", "--version"]');
    const at = (name: string) => last.findLastIndex((instruction) => instruction.name === name);
    expect(at('RUN')).to.be.above(Math.max(at('COPY'), at('USER')));
  });

  it('runs as a numeric user other than root, who owns only /data and /backups', () => {
    expect(last.findLast(({ name }) => name === 'USER')?.rest).to.match(/^[1-9]\d{3,}:[1-9]\d{3,}$/);
    expect(restsOf('COPY').filter((rest) => !/^(?:--from=|--chmod=0(?:644|755) )/.test(rest))).to.deep.equal([]);
    expect(
      restsOf('RUN')
        .join('\n')
        .match(/-o 10001 -g 10001 -m 0700 \/data \/backups/g),
    ).to.have.length(1);
  });

  it('contains no secret', () => {
    const named = stages.flatMap((stage) => [...restsOf('ENV', stage), ...restsOf('ARG', stage)]).join('\n');
    expect(named).not.to.match(/SECRET|PASSWORD|TOKEN|ACCESS_KEY|MONGO_URL/i);
  });

  it('has labels with the version of the project', () => {
    expect(restsOf('ARG')).to.include(`VERSION=${version}`);
    for (const label of ['title', 'description', 'licenses', 'version', 'revision'])
      expect(restsOf('LABEL').join(' ')).to.include(`org.opencontainers.image.${label}=`);
    expect((JSON.parse(textOf('package.json')) as { license: string }).license).to.equal('Apache-2.0');
  });

  it('checks its health at the port that its configuration sets', async () => {
    const { internal, rest, dataFolder } = await loadAs('all', textOf('deploy/image/darkroom.yaml'), {});
    expect({ internal, port: rest.port, dataFolder }).to.deep.equal({
      internal: { host: '0.0.0.0', port: 9090 },
      port: 8080,
      dataFolder: '/data',
    });
    expect(restsOf('EXPOSE')).to.deep.equal(['8080 9090']);
    expect(restsOf('HEALTHCHECK').join(' ')).to.include('CMD ["/app/probe.sh", "/livez"]');
    expect(textOf('deploy/image/probe.sh')).to.include('${2:-9090}');
  });

  it('has the examples that the program reads: it writes the files for each provider, and the schema', () => {
    const image = mkdtempSync(join(tmpdir(), 'darkroom-image-'));
    try {
      for (const { source, target } of copied([last])) {
        mkdirSync(dirname(join(image, target)), { recursive: true });
        // A folder would be copied with the mode of a file, and could not be entered.
        expect(statSync(pathOf(source)).isFile(), source).to.equal(true);
        cpSync(pathOf(source), join(image, target));
      }
      for (const part of ['core', 'adapters', 'apps', 'clients'])
        cpSync(pathOf(`dist/${part}`), join(image, 'app/dist', part), { recursive: true });
      symlinkSync(pathOf('node_modules'), join(image, 'app/node_modules'));
      const run = (folder: string, ...args: readonly string[]) => {
        mkdirSync(join(image, folder), { recursive: true });
        const env = { PATH: process.env['PATH'], DARKROOM_CONFIG: join(image, 'etc/darkroom/darkroom.yaml') };
        const program = join(image, 'app/dist/apps/cli/main.js');
        const { status, stderr } = spawnSync(process.execPath, [program, ...args], {
          cwd: join(image, folder),
          env,
          encoding: 'utf8',
        });
        expect({ status, stderr }, args.join(' ')).to.include({ status: 0 });
      };
      run('schema', 'config', 'schema');
      const example = ['--base-url', 'http://127.0.0.1:8188', '--model', 'sdxl'];
      run('comfyui', 'init', '--provider', 'comfyui', ...example);
      expect(readdirSync(join(image, 'comfyui')).sort()).to.include.members(['catalog.yaml', 'darkroom.yaml']);
      const names = readdirSync(pathOf('config/providers'));
      for (const name of names.filter((one) => one.endsWith('.yaml')))
        expect(readFileSync(join(image, 'app/config/providers', name), 'utf8')).to.equal(
          textOf(`config/providers/${name}`),
        );
    } finally {
      rmSync(image, { recursive: true });
    }
  });

  it('has every file for Compose, at the same place below /app', () => {
    const inFolders = ['compose', 'compose/grpc', 'config', 'quick-start'].flatMap((folder) =>
      readdirSync(pathOf(`deploy/${folder}`), { withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name !== '.env')
        .map(({ name }) => `deploy/${folder}/${name}`),
    );
    const beside = readdirSync(pathOf('deploy'))
      .filter((name) => /^compose.*\.yaml$|\.sh$|^\.env\.example$/.test(name))
      .map((name) => `deploy/${name}`);
    const found = copied([last]).filter(({ target }) => target.startsWith('/app/deploy/'));
    expect(found.map(({ source }) => source)).to.have.members([...inFolders, ...beside]);
    for (const { source, target } of found) expect(target).to.equal(`/app/${source}`);
  });

  it('runs one process, which receives signals', () => {
    expect(restsOf('ENTRYPOINT')).to.deep.equal(['["darkroom"]']);
    expect(restsOf('STOPSIGNAL')).to.deep.equal(['SIGTERM']);
    expect(textOf('deploy/image/darkroom.sh')).to.match(/^exec node /m);
    expect(restsOf('COPY')).to.include('--chmod=0755 deploy/image/darkroom.sh /usr/local/bin/darkroom');
  });
});

describe('deploy/image/probe.sh', () => {
  for (const [status, code] of [
    [200, 0],
    [503, 1],
    [404, 1],
  ] as const) {
    it(`exits with ${code} if the listener responds with ${status}`, async () => {
      const asked: (string | undefined)[] = [];
      const server = createServer((req, res) => {
        asked.push(req.url);
        res.writeHead(status).end();
      });
      await new Promise<void>((resolve) => {
        server.listen(0, '127.0.0.1', resolve);
      });
      try {
        expect(await probe('/readyz', String((server.address() as AddressInfo).port))).to.equal(code);
        expect(asked).to.deep.equal(['/readyz']);
      } finally {
        server.close();
      }
    });
  }

  it('exits with 1 if the listener closes the connection without a response', async () => {
    const server = createTcpServer((socket) => socket.end());
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    try {
      expect(await probe('/readyz', String((server.address() as AddressInfo).port))).to.equal(1);
    } finally {
      server.close();
    }
  });

  it('exits with 1 without a listener', async () => {
    expect(await probe('/livez', '1')).to.equal(1);
  });
});

function probe(...args: readonly string[]): Promise<number | null> {
  const child = spawn('bash', [pathOf('deploy/image/probe.sh'), ...args], { stdio: 'ignore' });
  return new Promise((resolve) => {
    child.on('close', resolve);
  });
}

describe('deploy/image/darkroom.sh', () => {
  it('names the command that reaches the program: in the container of a service, or in one of its own', () => {
    const script = textOf('deploy/image/darkroom.sh').replace(/^exec .*$/m, 'echo "$DARKROOM_COMMAND"');
    const named = (program: string, variables: Readonly<Record<string, string>>, ...args: readonly string[]) =>
      spawnSync('sh', ['-c', program, 'darkroom', ...args], {
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], ...variables },
      }).stdout.trim();
    expect(named(script, { HOSTNAME: '4f2a' }, 'keys', 'create')).to.equal('docker exec 4f2a darkroom');
    const pod = { HOSTNAME: 'rest-0', KUBERNETES_SERVICE_HOST: '10.0.0.1' };
    expect(named(script, pod, 'serve')).to.equal('kubectl exec rest-0 -- darkroom');
    // The script behaves differently as process 1, which a test cannot be.
    const first = script.replace('$$ -ne 1', '1 -ne 1');
    expect(named(first, { HOSTNAME: '4f2a' }, 'init', '--provider', 'fal')).to.equal('darkroom');
    expect(named(first, { HOSTNAME: '4f2a' }, 'serve')).to.equal('docker exec 4f2a darkroom');
    expect(named(script, { DARKROOM_COMMAND: 'mine' }, 'serve')).to.equal('mine');
  });

  it('sets variables to the complete contents of mounted secrets, and forwards its arguments', () => {
    const folder = mkdtempSync(join(tmpdir(), 'darkroom-deploy-'));
    try {
      writeFileSync(join(folder, 'DARKROOM_MONGO_URL'), "mongodb://a:b c'd$(x)@h/?x=1&y=2\n");
      writeFileSync(join(folder, 'installation_secret'), 'left alone');
      const script = textOf('deploy/image/darkroom.sh')
        .replaceAll('/run/secrets', folder)
        .replace('/app/dist/apps/cli/main.js', '-p');
      const { stdout } = spawnSync(
        'sh',
        ['-c', script, 'darkroom', 'JSON.stringify([process.env.DARKROOM_MONGO_URL, process.ppid])'],
        { encoding: 'utf8' },
      );
      // Root can read every file, so the test of the right is replaced.
      const refused = spawnSync('sh', ['-c', script.replace('! -r "$file"', '1 = 1'), 'darkroom', '0'], {
        encoding: 'utf8',
      });
      expect(refused).to.include({ status: 1, stdout: '' });
      expect(refused.stderr).to.match(/^darkroom: .*DARKROOM_MONGO_URL cannot be read by user \d+: give .*0444\.\n$/);
      // The program's parent is the process that started the script: exec replaced the script itself.
      expect(JSON.parse(stdout)).to.deep.equal(["mongodb://a:b c'd$(x)@h/?x=1&y=2", process.pid]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
