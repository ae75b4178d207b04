import { assert } from '../../../core/assert.js';
import type { Choice } from './choose.js';
import { withEntries, withLineAfter, withValue, yamlText } from './edit-yaml.js';
import { filesOfModel, modelsOf, type ExampleModel, type ProviderExample } from './provider-example.js';

export const CONFIG_FILE = 'darkroom.yaml';
export const CATALOG_FILE = 'catalog.yaml';

export interface ChosenFiles {
  /** Texts by their paths from the folder. */
  readonly files: ReadonlyMap<string, string>;
  /** Those of the catalog. */
  readonly models: readonly ExampleModel[];
}

/** What is written for a choice: the example without what was not chosen. Throws one sentence for a file of no use. */
export async function chosenFiles(example: ProviderExample, choice: Choice): Promise<ChosenFiles> {
  const config = configText(example, choice);
  if ('imported' in choice.models) {
    const { path, text, isElsewhere } = choice.models.imported;
    const { imports } = choice.instance.driver;
    assert(imports !== undefined, 'a file was chosen of a kind that imports some');
    const catalog = await imports.propose(text, path);
    const files = new Map([
      [CONFIG_FILE, config],
      [CATALOG_FILE, catalog],
      ...(isElsewhere ? [[path, text] as const] : []),
    ]);
    return { files, models: modelsOf(catalog) };
  }
  const { keys } = choice.models;
  const isChosen = ({ model_key: key }: ExampleModel) => keys.includes(key);
  const catalog = withEntries(example.catalog, ['models'], (index) =>
    example.models.some((model, at) => at === index && isChosen(model)),
  );
  const models = example.models.filter(isChosen);
  const beside = models.flatMap((model) => [...filesOfModel(model)]);
  return { files: new Map([[CONFIG_FILE, config], [CATALOG_FILE, catalog], ...beside]), models };
}

function configText({ config }: ProviderExample, { instance, address, keyFile }: Choice): string {
  const { name, addressOption, address: shown } = instance;
  const section = ['providers', name];
  let text = withEntries(config, ['providers'], (entry) => entry === name);
  text = withValue(text, ['catalog'], CATALOG_FILE);
  if (keyFile !== undefined) text = withLineAfter(text, [...section, 'kind'], `api_key_file: ${yamlText(keyFile)}`);
  if (address === undefined) return text;
  const value = addressOption === 'servers' ? `[${address.split(',').map(trimmed).join(', ')}]` : yamlText(address);
  return shown === undefined
    ? withLineAfter(text, [...section, 'kind'], `${addressOption}: ${value}`)
    : withValue(text, [...section, addressOption], value);
}

function trimmed(text: string): string {
  return yamlText(text.trim());
}
