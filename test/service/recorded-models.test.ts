// Goal: each model that was recorded of a vendor and can be added makes one output: the vendor's own description accepts the
// request, what it delivers is taken, and it is charged as it was estimated.
// Method: `models add` for recorded answers, which are beside this repository where they are at all; the started service; and
// fakes of the vendors that hold requests against the recorded description and deliver what it says, in the size, number and
// length that were asked for. Numbers of references that a description leaves open are given, as a person would. Only in the
// full run.
import { expect } from 'chai';
import { hash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { parse } from 'yaml';
import { ROLE_FLAGS } from '../../apps/cli/client/generation-input.js';
import type { ReferenceRole } from '../../core/generation/generation.js';
import { type Json, type JsonObject, memberOf } from '../../core/json.js';
import { MAX_REFERENCE_UPLOADS } from '../../core/generation/quote.js';
import { ROOT } from '../docs/pages.js';
import { image } from '../fixtures/images.js';
import { CliRun } from '../harness/cli-run.js';
import { CliService } from '../harness/cli-service.js';
import { sizeOf } from '../harness/run-sizes.js';
import { CogFake } from '../providers/fakes/cog-fake.js';
import type { DescribedModel } from '../providers/fakes/described-model.js';
import { FalFake } from '../providers/fakes/fal-fake.js';
import { ReplicateFake } from '../providers/fakes/replicate-fake.js';

const RECORDED = join(ROOT, '../shared/model-schemas');

interface Recorded {
  readonly file: string;
  readonly vendor: 'fal' | 'replicate' | 'cog' | 'openai';
  readonly id: string;
  readonly category: string;
}

interface Entry {
  readonly model_key: string;
  readonly prompt?: string;
  readonly required_roles?: readonly ReferenceRole[];
  readonly input_schema?: { readonly properties?: JsonObject; readonly required?: readonly string[] };
  readonly provider_settings: {
    readonly output: { readonly media_type: string };
    readonly mask?: object;
  };
}

interface Task {
  readonly status: string;
  readonly estimated_credits: number;
  readonly charged_credits: number;
  readonly error?: object;
  readonly files: readonly string[];
}

interface Prices {
  readonly prices: Readonly<Record<string, JsonObject>>;
}

interface Added {
  readonly recorded: Recorded;
  readonly entry: Entry;
  /** Describes the model at its fake again. */
  readonly describe: () => DescribedModel | undefined;
}

/** The answers of a person to the command's questions. */
const ANSWERS = [
  [/--set references=/, ['--set', 'references=2']],
  [/--price/, ['--price', '3']],
  [/--set references=/, ['--set', 'references=2']],
] as const;

describe('recorded models of vendors', () => {
  const fakes = {
    fal: undefined as unknown as FalFake,
    replicate: undefined as unknown as ReplicateFake,
    cog: undefined as unknown as CogFake,
  };
  let folder: string;
  let prices: Prices['prices'];
  let service: CliService;
  const added: Added[] = [];
  const refused: string[] = [];

  before(async function () {
    const size = sizeOf('recordedModels');
    if (size === 0 || !existsSync(RECORDED)) return this.skip();
    fakes.fal = await FalFake.open();
    fakes.replicate = await ReplicateFake.open();
    fakes.cog = await CogFake.open();
    folder = mkdtempSync(join(tmpdir(), 'darkroom-recorded-'));
    writeFileSync(
      join(folder, 'darkroom.yaml'),
      `catalog: catalog.yaml
rest: { rate_limits: { reads_per_minute: 0, creates_per_minute: 0 } }
providers:
  fal: { kind: fal, platform_url: "${fakes.fal.platform}", base_url: "${fakes.fal.base}", api_key: "${fakes.fal.key}" }
  replicate: { kind: replicate, base_url: "${fakes.replicate.base}", api_key: "${fakes.replicate.key}" }
  cog: { kind: cog, base_url: "${fakes.cog.base}" }
`,
    );
    ({ prices } = JSON.parse(readFileSync(join(RECORDED, 'prices.json'), 'utf8')) as Prices);
    const { files } = JSON.parse(readFileSync(join(RECORDED, 'index.json'), 'utf8')) as {
      readonly files: readonly Recorded[];
    };
    const all = files.filter(({ vendor }) => vendor !== 'openai');
    // Spread over all vendors.
    const step = Math.max(1, Math.floor(all.length / size));
    for (const recorded of all.filter((_, index) => index % step === 0).slice(0, size)) await add(recorded);
    const models = added.map(({ entry }) => ({ ...entry, poll_interval_ms: 10 }));
    writeFileSync(join(folder, 'catalog.yaml'), JSON.stringify({ version: 1, models }));
    service = await CliService.start({}, folder);
  });

  after(async () => {
    await service?.stop();
    for (const fake of Object.values(fakes)) await fake?.close();
  });

  /** Adds a model at its fake, with one answer to the one question that a person is asked. */
  async function add(recorded: Recorded): Promise<void> {
    const { vendor, id, file, category } = recorded;
    const answer = JSON.parse(readFileSync(join(RECORDED, file), 'utf8')) as JsonObject;
    const makes = [category, id].some((text) => text.endsWith('video')) ? 'video' : 'image';
    const describe = (): DescribedModel | undefined => {
      if (vendor === 'fal') return fakes.fal.describe(answer, prices[id]);
      if (vendor === 'cog') return fakes.cog.describe(answer, makes);
      const [owner = '', name = ''] = id.split('/');
      // Most recordings leave the version out.
      const version = { id: hash('sha256', id), ...(answer['latest_version'] as JsonObject) };
      return fakes.replicate.describe(owner, name, { ...answer, owner, name, latest_version: version }, makes);
    };
    if (describe() === undefined) throw new Error(`The recording of ${id} has no schema.`);
    const ref = vendor === 'cog' ? fakes.cog.base : id;
    const key = file.replace('.json', '').replaceAll(/[^a-z0-9.]+/g, '-');
    const given = ['--key', key, '--yes'];
    const run = () => new CliRun(folder, ['models', 'add', `${vendor}:${ref}`, ...given]).ended;
    let ran = await run();
    for (const [asked, answers] of ANSWERS)
      if (asked.test(ran.stderr)) {
        given.push(...answers);
        ran = await run();
      }
    if (ran.code !== 0) {
      refused.push(`${id}: ${ran.stderr.trim()}`);
      return;
    }
    // A catalog of its own for each: the whole one would be checked every time.
    const catalog = join(folder, 'catalog.yaml');
    const { models } = parse(readFileSync(catalog, 'utf8')) as { readonly models: readonly [Entry] };
    added.push({ recorded, entry: models[0], describe });
    rmSync(catalog);
  }

  it('are added, or refused with one sentence', () => {
    for (const sentence of refused) expect(sentence).to.match(/^[^\n]+darkroom: [^\n]+\.$/);
    expect(added.length).to.be.above(0);
  });

  it('make one output each, charged as estimated', async function () {
    const pictures = await writtenPictures(folder);
    const faults: string[] = [];
    const make = async ({ entry, describe: again, recorded }: Added): Promise<void> => {
      const { model_key: key } = entry;
      const { media_type: mediaType } = entry.provider_settings.output;
      const model = again();
      if (model !== undefined) model.mediaType = mediaType;
      const takesMask = entry.provider_settings.mask !== undefined;
      const files = (entry.required_roles ?? []).flatMap((role, index) => [
        ROLE_FLAGS[role],
        (takesMask && index === 0 ? pictures.masked : pictures.opaque[index]) ?? '',
      ]);
      const { properties = {}, required = [] } = entry.input_schema ?? {};
      const parameters = required.flatMap((name) => ['--param', `${name}=${valueFor(properties[name])}`]);
      const prompt = entry.prompt === 'none' ? [] : ['a lighthouse'];
      const task = await service.json<Task>([
        'generate',
        ...prompt,
        '--model',
        key,
        ...files,
        ...parameters,
        '--out',
        `${key}.${mediaType.split('/')[1]}`,
        '--force',
      ]);
      const { status, error, estimated_credits: estimated, charged_credits: charged } = task;
      if (status !== 'succeeded') faults.push(`${recorded.vendor} ${recorded.id}: ${JSON.stringify(error ?? task)}`);
      else if (charged !== estimated) faults.push(`${recorded.id}: ${charged} of ${estimated}`);
    };
    const isCog = ({ recorded }: Added) => recorded.vendor === 'cog';
    const left = added.filter((one) => !isCog(one));
    const worker = async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) await make(next);
    };
    await Promise.all(Array.from({ length: 4 }, worker));
    // A container serves one model.
    for (const one of added.filter(isCog)) await make(one);
    expect(faults).to.deep.equal([]);
  });
});

/** Paths of pictures, and of one with a transparent part, which stands for a mask. */
async function writtenPictures(
  folder: string,
): Promise<{ readonly opaque: readonly string[]; readonly masked: string }> {
  const bytes = await image('png', 512, 512);
  const hole = {
    create: { width: 100, height: 100, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 1 } },
  } as const;
  const pierced = sharp(bytes)
    .ensureAlpha()
    .composite([{ input: hole, blend: 'dest-out' }]);
  const written = (name: string, content: Uint8Array) => {
    const path = join(folder, `${name}.png`);
    writeFileSync(path, content);
    return path;
  };
  const opaque = Array.from({ length: MAX_REFERENCE_UPLOADS }, (_, index) => written(`opaque-${index + 1}`, bytes));
  return { opaque, masked: written('masked', await pierced.png().toBuffer()) };
}

/** A value that a schema of a parameter allows. */
function valueFor(schema: Json | undefined): string {
  const listed = memberOf(schema, 'enum');
  return JSON.stringify((Array.isArray(listed) ? listed[0] : memberOf(schema, 'minimum')) ?? 1).replaceAll('"', '');
}
