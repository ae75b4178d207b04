import { loadCatalog } from '../../../adapters/catalog-file/file-catalog.js';
import type { ReferenceRole } from '../../../core/generation/generation.js';
import type { JsonObject } from '../../../core/json.js';
import { variableOf } from '../../config/config-keys.js';
import { loadConfig } from '../../config/load-config.js';
import { FIRST_PROMPT } from '../../service/first-start.js';
import { catalogTools } from '../../wiring/catalog-tools.js';
import type { CliIo } from '../io.js';
import { Failure } from '../exit.js';
import { say, show } from '../terminal.js';
import { choose, type Choice, type InitFlags } from './choose.js';
import { CATALOG_FILE, CONFIG_FILE, chosenFiles } from './chosen-files.js';
import { refuseTaken, writeNewFiles } from './new-files.js';
import { providerExample, type ExampleModel } from './provider-example.js';
import { questionsTo } from './questions.js';
import { trialJson, trialText, tryProposal, type TriedFile } from './try-proposal.js';

/**
 * Writes the configuration and the catalog of one provider into the folder, of its example, and shows how to go on. What
 * the flags do not say is asked at a terminal. Throws one sentence, and then leaves no file.
 */
export async function initProvider(
  io: CliIo,
  name: string,
  options: InitFlags & { readonly json?: boolean },
): Promise<void> {
  const example = providerExample(name);
  refuseTaken(io.folder, [CONFIG_FILE, CATALOG_FILE]);
  const questions = questionsTo(io);
  const choice = await choose(example, { flags: options, questions, folder: io.folder }).finally(() =>
    questions?.close(),
  );
  const { files, models } = await chosenFiles(example, choice);
  await writeNewFiles(io.folder, files, () => checkWritten(io.folder));
  const tried = options.try === true ? await tryWritten(io, choice, files.get(CATALOG_FILE) ?? '') : undefined;
  const next = nextCommands(models);
  const variable = variableOf(`providers.${choice.instance.name}.api_key`);
  show(
    io,
    {
      json: {
        provider: choice.instance.name,
        kind: choice.instance.driver.name,
        files: [...files.keys()],
        models: models.map(({ model_key: key }) => key),
        ...(choice.keyFile === undefined ? { key_variable: variable } : { key_file: choice.keyFile }),
        ...(tried === undefined ? {} : { tried: trialJson(tried) }),
        next,
      },
      text: [
        `Written: ${[...files.keys()].join(', ')}.`,
        keySentence(choice, variable),
        ...('imported' in choice.models ? [`Read ${CATALOG_FILE} first: it says what you should check.`] : []),
        ...(tried === undefined ? [] : [trialText(tried)]),
        '',
        'Next, the last one in another terminal:',
        ...next.map((command) => `  ${command}`),
      ].join('\n'),
    },
    options,
  );
}

/** Runs the proposal once. The files are kept whatever comes of it: they may only need a correction. */
async function tryWritten(io: CliIo, { instance }: Choice, catalog: string): Promise<readonly TriedFile[]> {
  const { providers } = await loadConfig({ file: CONFIG_FILE, folder: io.folder, environment: io.environment });
  const configured = providers.get(instance.name);
  if (configured === undefined) throw new Failure(`There is no provider ${instance.name} in ${CONFIG_FILE}.`);
  try {
    return await tryProposal(io, { catalog, folder: io.folder, ...configured });
  } catch (error) {
    say(io, `${CONFIG_FILE} and ${CATALOG_FILE} were written and are kept.`);
    throw error;
  }
}

/** As the service would, without variables. Throws as it does. */
async function checkWritten(folder: string): Promise<void> {
  const config = await loadConfig({ file: CONFIG_FILE, folder, environment: {} });
  await loadCatalog(config.catalog, catalogTools(config), CATALOG_FILE);
}

function keySentence({ instance, keyFile }: Choice, variable: string): string {
  if (keyFile !== undefined) return `The key is read from ${keyFile} and written nowhere else.`;
  return instance.address === undefined
    ? `The key is not written: set ${variable} to it, or name a file that has it in api_key_file of ${CONFIG_FILE}.`
    : `If the server asks for a key, set ${variable} to it, or name a file that has it in api_key_file of ${CONFIG_FILE}.`;
}

const FLAGS: Readonly<Record<ReferenceRole, string>> = {
  reference_image: '--reference',
  start_frame: '--start-frame',
  end_frame: '--end-frame',
};

/** The files that each task of a workflow needs, as `inputs` of its settings has places for them. */
function neededFiles(model: ExampleModel | undefined): string {
  const inputs = (model?.provider_settings?.['inputs'] ?? {}) as JsonObject;
  const flags = Object.entries(FLAGS).flatMap(([role, flag]) => {
    const places = inputs[role];
    return Array.isArray(places) ? places.map(() => ` ${flag} picture.png`) : [];
  });
  return flags.join('');
}

function nextCommands(models: readonly ExampleModel[]): readonly string[] {
  const model = models.find(({ limits }) => limits.max_reference_uploads === 0) ?? models[0];
  const out = model?.modality === 'video' ? 'first-video.mp4' : 'first-picture.png';
  return [
    'npx darkroom providers check',
    'npx darkroom serve',
    `npx darkroom generate "${FIRST_PROMPT}" --model ${model?.model_key}${neededFiles(model)} --out ${out}`,
  ];
}
