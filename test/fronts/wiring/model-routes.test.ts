// Goal: what the catalog check says of providers is what the open ones promise, and it warns where a generation may be paid
// for twice, a parameter has no effect or a request is free, naming the line, and nowhere else.
// Method: every driver and example there is, opened without a server; catalogs with each kind of provider and policy.
import { expect } from 'chai';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { FileCatalog, loadCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import type { ProviderDriver } from '../../../adapters/driver.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import type { ConfiguredProvider } from '../../../apps/config/config.js';
import { loadConfig } from '../../../apps/config/load-config.js';
import { BUILT_IN_DRIVERS } from '../../../apps/wiring/built-in-drivers.js';
import { catalogTools } from '../../../apps/wiring/catalog-tools.js';
import { type CatalogWarning, catalogWarnings, modelRoutes } from '../../../apps/wiring/model-routes.js';
import { openProvider } from '../../../apps/wiring/open-provider.js';
import type { Model } from '../../../core/catalog/model.js';
import type { JsonObject } from '../../../core/json.js';
import { MemoryBudget } from '../../../core/memory-budget.js';
import type { ProviderCapabilities } from '../../../core/ports/provider.js';
import { ROOT } from '../../docs/pages.js';
import { SILENT } from '../../fixtures/memory-stores.js';
import { imageModel } from '../../fixtures/models.js';
import { PROMISES } from '../../fixtures/scripted-provider.js';

const EXAMPLES = join(ROOT, 'config/providers');
const EXAMPLE_NAMES = readdirSync(EXAMPLES)
  .filter((name) => name.endsWith('.catalog.yaml'))
  .map((name) => name.replace('.catalog.yaml', ''));

const PAID: ProviderCapabilities = { ...PROMISES, isPaid: true, isAskedBy: 'nothing', takesTokenOnce: false };

describe('what drivers promise without being opened', () => {
  it('is said by every built-in one', () => {
    const silent = BUILT_IN_DRIVERS.filter((driver) => driver.kind === 'provider' && driver.capabilities === undefined);
    expect(silent.map(({ name }) => name)).to.deep.equal([]);
  });

  for (const example of [...EXAMPLE_NAMES, undefined]) {
    it(`is what the open provider promises, for the models of ${example ?? 'the catalog that comes with it'}`, async () => {
      const file = example === undefined ? {} : { file: `${example}.yaml` };
      const config = await loadConfig({ ...file, folder: example === undefined ? ROOT : EXAMPLES, environment: {} });
      const catalog = await loadCatalog(config.catalog, catalogTools(config));
      const needs = { clock: new SystemClock(), log: SILENT, memory: new MemoryBudget(1024) };
      for (const { modelKey, provider, capabilities } of modelRoutes(catalog, config)) {
        const opened = await openProvider(config, provider, needs);
        const settings = catalog.find(modelKey)?.route.find((entry) => entry.provider === provider)?.settings ?? {};
        expect(capabilities, modelKey).to.deep.equal(opened.capabilities(settings));
        await opened.close?.();
      }
    });
  }

  it('is nothing to warn about in any example', async () => {
    for (const example of EXAMPLE_NAMES) {
      const config = await loadConfig({ file: `${example}.yaml`, folder: EXAMPLES, environment: {} });
      const catalog = await loadCatalog(config.catalog, catalogTools(config));
      expect(catalogWarnings(catalog, modelRoutes(catalog, config)), example).to.deep.equal([]);
    }
  });
});

describe('the warning about masks', () => {
  const key = 'plain-image';
  const catalog = new FileCatalog(
    [imageModel()],
    new Map([[key, { inputSchema: 3, price: 4, route: 5, onUnknownAcceptance: 7, onInvalidOutput: 9 }]]),
  );
  const warningsOf = (...of: readonly Partial<ProviderCapabilities>[]) =>
    catalogWarnings(
      catalog,
      of.map((one, index) => ({
        modelKey: key,
        provider: `p${index}`,
        weight: 1,
        unsent: [],
        refused: [],
        capabilities: { ...PROMISES, ...one },
      })),
    );
  const needing = { maxMaskedReferences: 1, needsMask: true };

  it('is given where one provider needs a mask and another takes none', () => {
    expect(warningsOf({}, needing)).to.deep.equal([
      {
        line: 5,
        message:
          'Every request for plain-image is refused: p1 needs a mask, and p0 takes none. Give each a model of its own.',
      },
    ]);
  });

  it('is not given where all take masks, or none needs one', () => {
    for (const routes of [[needing, { maxMaskedReferences: 2 }], [needing], [{ maxMaskedReferences: 1 }, {}]])
      expect(warningsOf(...routes)).to.deep.equal([]);
  });
});

describe('the warning about resubmit', () => {
  function warningsOf(
    capabilities: ProviderCapabilities | undefined,
    onUnknownAcceptance: 'resubmit' | 'fail',
    changes: Partial<Model> = {},
  ): object[] {
    const route = ['first', 'second'].map((provider) => ({ provider, settings: {}, weight: 1 }));
    const catalog = new FileCatalog(
      [imageModel({ route, onUnknownAcceptance, ...changes })],
      new Map([['plain-image', { inputSchema: 3, price: 4, route: 5, onUnknownAcceptance: 7, onInvalidOutput: 9 }]]),
    );
    const driver = {
      kind: 'provider',
      name: 'x',
      options: {},
      open: () => Promise.reject(new Error('never')),
    } as const;
    const configured = (said: ProviderDriver): ConfiguredProvider => ({ driver: said, options: {}, limits: {} });
    const providers = new Map([
      ['first', configured({ ...driver, capabilities: () => PROMISES })],
      ['second', configured(capabilities === undefined ? driver : { ...driver, capabilities: () => capabilities })],
    ]);
    return [...catalogWarnings(catalog, modelRoutes(catalog, { providers, catalog: 'catalog.yaml' }))];
  }

  it('names the line and the providers that are paid and cannot be asked', () => {
    expect(warningsOf(PAID, 'resubmit')).to.deep.equal([
      {
        line: 7,
        message:
          'on_unknown_acceptance: resubmit may pay up to 3 times for one generation of plain-image: second charges for each task, ' +
          'and cannot be asked whether it has one. Use fail.',
      },
    ]);
  });

  it('names the line and the providers that are paid for each unusable result', () => {
    expect(warningsOf({ ...PAID, isAskedBy: 'token' }, 'fail', { onInvalidOutput: 'resubmit' })).to.deep.equal([
      {
        line: 9,
        message:
          'on_invalid_output: resubmit may pay up to 3 times for one generation of plain-image: second charges for each task. ' +
          'Use fail.',
      },
    ]);
  });

  it('is not given when only one submission may be taken', () => {
    expect(warningsOf(PAID, 'resubmit', { onInvalidOutput: 'resubmit', maxAttempts: 1 })).to.deep.equal([]);
  });

  for (const [why, capabilities, policy] of [
    ['the policy is fail', PAID, 'fail'],
    ['it can be asked', { ...PAID, isAskedBy: 'token' }, 'resubmit'],
    ['it takes a token once', { ...PAID, takesTokenOnce: true }, 'resubmit'],
    ['nobody is paid', { ...PAID, isPaid: false }, 'resubmit'],
    ['nothing is known of it', undefined, 'resubmit'],
  ] as const) {
    it(`is not given when ${why}`, () => {
      expect(warningsOf(capabilities, policy)).to.deep.equal([]);
    });
  }
});

describe('the warning about a parameter without effect', () => {
  const LINES = new Map([
    ['plain-image', { inputSchema: 3, price: 4, route: 5, onUnknownAcceptance: 7, onInvalidOutput: 9 }],
  ]);
  const PROPERTIES: JsonObject = { n: { type: 'integer' }, steps: { type: 'integer' } };

  /** The warnings for a model with the parameters `n`, which counts its outputs, and `steps`. */
  function warningsOf(kind: string, settings: JsonObject, properties = PROPERTIES): readonly CatalogWarning[] {
    const schema = { type: 'object', properties };
    const driver = BUILT_IN_DRIVERS.find(({ name }) => name === kind) as ProviderDriver;
    const price = { ...imageModel().price, countParameter: 'n' };
    const route = [{ provider: 'own', settings, weight: 1 }];
    const catalog = new FileCatalog(
      [imageModel({ route, inputSchema: schema, price, onUnknownAcceptance: 'fail' })],
      LINES,
    );
    const providers = new Map<string, ConfiguredProvider>([['own', { driver, options: {}, limits: {} }]]);
    return catalogWarnings(catalog, modelRoutes(catalog, { providers, catalog: 'catalog.yaml' }));
  }

  const messageOf = ({ message }: { readonly message: string }) => message;
  /** The rule for `n`, where the kind needs one. */
  const count = (kind: string): JsonObject =>
    ['cog', 'replicate', 'fal'].includes(kind)
      ? { num_outputs: { parameter: 'n', type: 'integer', minimum: 1, maximum: 4 } }
      : {};
  const steps = { parameter: 'steps', type: 'integer', minimum: 1, maximum: 9 };
  const base: Readonly<Record<string, JsonObject>> = {
    sdcpp: {},
    a1111: {},
    cog: { output: { media_type: 'image/png' } },
    replicate: { model: 'a/b', output: { media_type: 'image/png' } },
    fal: { endpoint: 'fal-ai/flux' },
    openai: { preset: 'sglang' },
  };
  for (const [kind, settings] of Object.entries(base)) {
    it(`names the line, the parameter and the provider, for ${kind}`, () => {
      expect(warningsOf(kind, { ...settings, fields: count(kind) })).to.deep.equal([
        {
          line: 3,
          message:
            'The parameter steps of plain-image has no effect at own: no rule of its provider_settings takes it. ' +
            'Give it one, or remove it from input_schema.',
        },
      ]);
    });

    it(`is not given where a field takes it, for ${kind}`, () => {
      expect(warningsOf(kind, { ...settings, fields: { ...count(kind), steps } })).to.deep.equal([]);
    });
  }

  for (const kind of ['cog', 'replicate', 'fal'])
    it(`is given for the number of outputs, which the service does not send by itself to ${kind}`, () => {
      expect(warningsOf(kind, { ...base[kind], fields: { steps } }).map(messageOf)).to.deep.equal([
        'The parameter n of plain-image has no effect at own: no rule of its provider_settings takes it. ' +
          'Give it one, or remove it from input_schema.',
      ]);
    });

  it('is also given for a value that the input schema allows and a rule refuses', () => {
    const narrow = { ...steps, parameter: 'n', maximum: 3 };
    const range = { n: { type: 'integer', minimum: 1, maximum: 4 } };
    for (const [kind, settings] of Object.entries(base)) {
      const name = { sdcpp: 'output_compression', a1111: 'steps' }[kind] ?? 'num_outputs';
      const given = warningsOf(kind, { ...settings, fields: { [name]: narrow } }, range);
      expect(given.map(messageOf), kind).to.deep.equal([
        'The parameter n of plain-image may be 4, which fails at own: a rule of its provider_settings refuses it. ' +
          'Change the rule, or input_schema.',
      ]);
      expect(given[0]?.line).to.equal(3);
    }
  });

  it('is given for http-json, whose rules are in parameters', () => {
    const settings = (parameters: JsonObject): JsonObject => ({
      submit: {
        path: '/jobs',
        body: { prompt: '{prompt}', edge: '{parameters.edge}', n: '{parameters.n}' },
        id: '/id',
      },
      parameters: { ...parameters, n: { type: 'integer', minimum: 1, maximum: 4 } },
      poll: {
        path: '/jobs/{id}',
        state: '/state',
        states: { running: ['working'], succeeded: ['done'], failed: ['error'] },
      },
      output: { media_type: 'image/png', at: '/url' },
    });
    expect(warningsOf('http-json', settings({ edge: steps }))).to.deep.equal([]);
    const misspelt = settings({ edge: { ...steps, parameter: 'stepps' } });
    expect(warningsOf('http-json', misspelt).map(messageOf)).to.deep.equal([
      'The parameter steps of plain-image has no effect at own: no rule of its provider_settings takes it. ' +
        'Give it one, or remove it from input_schema.',
    ]);
  });

  it('is not given for a kind that does not say what it sends', () => {
    expect(warningsOf('sandbox', {})).to.deep.equal([]);
  });
});

describe('the warning about requests that cost nothing', () => {
  const lines = new Map([
    ['plain-image', { inputSchema: 3, price: 4, route: 5, onUnknownAcceptance: 7, onInvalidOutput: 9 }],
  ]);

  it('is given where reference files alone have a price, and a request needs none', () => {
    const warningsFor = (price: Partial<Model['price']>, more: Partial<Model> = {}): readonly CatalogWarning[] => {
      const free = { ...imageModel().price, microcreditsPerUnit: 0, minimumCredits: 0 };
      const model = {
        ...imageModel(),
        ...more,
        price: { ...free, inputMicrocreditsPerMegapixel: 1_000_000, ...price },
      };
      return catalogWarnings(new FileCatalog([model], lines), []);
    };
    expect(warningsFor({})).to.deep.equal([
      {
        line: 4,
        message:
          'A request for plain-image without a reference file costs nothing: its price counts those files alone. ' +
          'Give the model required_roles, or its price a minimum_credits.',
      },
    ]);
    expect(warningsFor({}, { requiredRoles: ['reference_image'] })).to.deep.equal([]);
    for (const paid of [{ minimumCredits: 1 }, { baseMicrocredits: 1 }, { microcreditsPerUnit: 1 }])
      expect(warningsFor(paid), JSON.stringify(paid)).to.deep.equal([]);
    expect(warningsFor({ inputMicrocreditsPerMegapixel: 0 })).to.deep.equal([]);
  });
});
