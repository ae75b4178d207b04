// Goal: drivers are data that the configuration can rely on, and the program names them only in their list.
// Method: every built-in driver is checked against the rules of the interface; the sources of apps are searched for
// driver names; unknown drivers are configured.
import { expect } from 'chai';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkSchema } from '../../../adapters/system/check-schema.js';
import { CONFIG_KEYS, configKeys, optionsOf } from '../../../apps/config/config-keys.js';
import { ConfigInvalid } from '../../../apps/config/config.js';
import { loadConfig } from '../../../apps/config/load-config.js';
import { takenOptionFault } from '../../../apps/config/options-fault.js';
import { INSTANCE_KEYS } from '../../../apps/config/provider-limits.js';
import { BUILT_IN_DRIVERS } from '../../../apps/wiring/built-in-drivers.js';
import { ROOT } from '../../docs/pages.js';

const LIST = 'apps/wiring/built-in-drivers.ts';

/** With one instance of each built-in provider, named as its kind. */
const KEYS = configKeys(
  BUILT_IN_DRIVERS,
  new Map(BUILT_IN_DRIVERS.filter(({ kind }) => kind === 'provider').map(({ name }) => [name, name])),
);

describe('built-in drivers', () => {
  it('have distinct names and sections', () => {
    const names = BUILT_IN_DRIVERS.map(({ name }) => name);
    expect(new Set(names).size).to.equal(names.length);
    expect(names.filter((name) => !/^[a-z][a-z0-9_-]*$/.test(name))).to.deep.equal([]);
  });

  for (const { kind, name, options } of BUILT_IN_DRIVERS) {
    it(`${name} describes its options by a JSON Schema that is closed, with defaults that it accepts itself`, () => {
      const plain = JSON.parse(
        JSON.stringify(options, (key, value: unknown) =>
          key === 'errorMessage' || key === 'format' ? undefined : value,
        ),
      ) as typeof options;
      expect(checkSchema(plain)).to.deep.equal([]);
      expect(options).to.include({ type: 'object', additionalProperties: false });
      for (const [option] of optionsOf(options)) {
        const key = KEYS.get(`${kind === 'provider' ? `providers.${name}` : name}.${option}`);
        if (key?.byDefault !== null) expect(key?.read(key.byDefault), option).not.to.equal(undefined);
      }
    });
  }

  it('of providers leave the keys of every instance alone', () => {
    for (const { kind, name, options } of BUILT_IN_DRIVERS)
      if (kind === 'provider') expect(takenOptionFault(options, INSTANCE_KEYS), name).to.equal(undefined);
  });

  it('marks every option that holds a secret', () => {
    const secrets = [...CONFIG_KEYS].filter(([, { isSecret }]) => isSecret).map(([path]) => path);
    expect(secrets).to.deep.equal([
      'sign_in.provider_client_secret',
      'mongo.url',
      'minio.access_key',
      'minio.secret_key',
      'minio.upload_access_key',
      'minio.upload_secret_key',
    ]);
  });

  it('are named in apps only by their list', () => {
    const names = BUILT_IN_DRIVERS.map(({ name }) => name);
    // `files`, `timers` and `sandbox` also have other meanings; as names of drivers they are in quotes.
    const named = new RegExp(
      `\\b(?:${names.filter((name) => !['files', 'timers', 'sandbox'].includes(name)).join('|')})(?:Driver)?\\b|'(?:files|timers|sandbox)'`,
      'i',
    );
    const files = readdirSync(join(ROOT, 'apps'), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => `apps/${path}`);
    const code = (path: string) =>
      readFileSync(join(ROOT, path), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
    // A command that reads files of one server's own format is about that server.
    const ofOneServer = ['apps/cli/program.ts', 'apps/cli/commands/comfyui.ts'];
    expect(files.filter((path) => named.test(code(path)) && !ofOneServer.includes(path))).to.deep.equal([LIST]);
  });
});

describe('an unknown driver', () => {
  for (const [path, known] of [
    ['database', 'sqlite, mongo'],
    ['objects', 'files, minio'],
    ['wake_ups', 'timers, agenda'],
  ] as const) {
    it(`is refused as stores.${path}, with the existing ones`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'darkroom-drivers-'));
      writeFileSync(join(folder, 'darkroom.yaml'), `stores: { ${path}: punch-cards }\n`);
      try {
        const refused = await loadConfig({ folder, environment: {} }).catch((error: unknown) => error);
        expect(refused)
          .to.be.instanceOf(ConfigInvalid)
          .with.property('message', `darkroom.yaml:1: stores.${path} must be one of ${known}, not punch-cards.`);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  }
});
