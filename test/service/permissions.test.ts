// Goal: for a user without permission to read or write a part of the data folder, the message names that part, and never
// suggests moving an intact database away.
// Method: the compiled program as a user that is not root, over a folder of that user with permissions removed, or with
// another user's folder in it. If the test runs as root, the program runs as the user nobody.
import { expect } from 'chai';
import { chmodSync, chownSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CliProcess, type Ran } from '../harness/cli-run.js';
import { refusedStart } from '../harness/refused-start.js';
import { sizeOf } from '../harness/run-sizes.js';
import { LiveService } from './live-service.js';

const IS_ROOT = process.getuid?.() === 0;
const NOBODY = 65_534;

describe('a data folder without permissions', () => {
  let service: LiveService;
  const inData = (name = '') => join(service.config.dataFolder, name);

  before(async function suite() {
    service = await LiveService.prepare();
    await service.tenant(1);
    if (IS_ROOT) giveAway(service.folder);
    const { code } = await run('--version').catch(() => ({ code: -1 }));
    if (code === 0) return;
    console.log('      skipped: there is no other user here who may run the program');
    this.skip();
  });
  after(() => service.remove());

  function giveAway(path: string): void {
    chownSync(path, NOBODY, NOBODY);
    for (const entry of readdirSync(path, { recursive: true, encoding: 'utf8' }))
      chownSync(join(path, entry), NOBODY, NOBODY);
  }

  function run(...args: readonly string[]): Promise<Ran> {
    return new CliProcess(service.folder, args, {
      environment: { DARKROOM_CONFIG: service.configFile },
      ...(IS_ROOT ? { user: NOBODY } : {}),
    }).ended;
  }

  const CASES: readonly {
    readonly what: string;
    readonly path: string;
    readonly mode: number;
    readonly restored: number;
    readonly verb: string;
  }[] = [
    { what: 'a folder that may not be written', path: '', mode: 0o500, restored: 0o700, verb: 'written' },
    { what: 'a database that may not be written', path: 'darkroom.db', mode: 0o400, restored: 0o600, verb: 'written' },
    { what: 'a secret that may not be read', path: 'secret', mode: 0, restored: 0o600, verb: 'read' },
    { what: 'a folder that may not be read', path: '', mode: 0, restored: 0o700, verb: 'read' },
    { what: 'a database that may not be read', path: 'darkroom.db', mode: 0, restored: 0o600, verb: 'read' },
    {
      what: 'a folder of objects that may not be written',
      path: 'objects',
      mode: 0o500,
      restored: 0o700,
      verb: 'written',
    },
    { what: 'objects that may not be written', path: 'objects/objects', mode: 0o500, restored: 0o700, verb: 'written' },
  ];
  for (const { what, path, mode, restored, verb } of CASES.slice(0, sizeOf('deniedRights'))) {
    it(`is refused, and the message names ${what}`, async () => {
      chmodSync(inData(path), mode);
      try {
        for (const command of [['serve'], ['accounts', 'list']]) {
          const { code, stdout, stderr } = await run(...command);
          const named = path === '' ? service.config.dataFolder : inData(path);
          expect({ code, stdout }, command[0]).to.deep.equal({ code: 1, stdout: '' });
          const sentence = command[0] === 'serve' ? refusedStart(stderr) : stderr;
          expect(sentence, command[0])
            .to.match(/^darkroom: [^\n]+\.\n$/)
            .and.to.include(`${named} cannot be ${verb} by this user (EACCES).`)
            .and.not.include('backup');
        }
      } finally {
        chmodSync(inData(path), restored);
      }
    });
  }

  it('is named if it cannot be created', async () => {
    mkdirSync(join(service.folder, 'closed'), { mode: 0o500 });
    if (IS_ROOT) chownSync(join(service.folder, 'closed'), NOBODY, NOBODY);
    const environment = {
      DARKROOM_CONFIG: service.configFile,
      DARKROOM_DATA_FOLDER: join(service.folder, 'closed', 'data'),
    };
    const { code, stderr } = await new CliProcess(service.folder, ['serve'], {
      environment,
      ...(IS_ROOT ? { user: NOBODY } : {}),
    }).ended;
    expect({ code, sentence: refusedStart(stderr) }).to.deep.equal({
      code: 1,
      sentence: `darkroom: The data folder ${environment.DARKROOM_DATA_FOLDER} cannot be created by this user (EACCES).\n`,
    });
  });

  it('is not where a backup goes that cannot be written', async () => {
    const { code, stdout, stderr } = await run('backup', '/backup-of-a-test');
    expect({ code, stdout, stderr }).to.deep.equal({
      code: 1,
      stdout: '',
      stderr: 'darkroom: / cannot be written by this user (EACCES).\n',
    });
  });

  it('works again once the permissions are restored', async () => {
    expect((await run('accounts', 'list')).code).to.equal(0);
  });
});
