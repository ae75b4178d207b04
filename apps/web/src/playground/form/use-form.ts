import { useMemo, useState } from 'preact/hooks';
import type { GenerationRequest, JsonObject } from '../../api-types.js';
import type { ConsoleModel } from '../../models/use-models.js';
import type { Setup } from '../draft.js';
import { type FieldTexts, type ParameterField, parameterFields, readParameters, textsOf } from './parameters.js';

export interface Form {
  readonly model: ConsoleModel;
  readonly pickModel: (key: string) => void;
  readonly prompt: string;
  readonly setPrompt: (text: string) => void;
  readonly negativePrompt: string;
  readonly setNegativePrompt: (text: string) => void;
  readonly fields: readonly ParameterField[] | undefined;
  readonly texts: FieldTexts;
  readonly setText: (name: string, text: string) => void;
  /** Replaces everything that is entered. */
  readonly fill: (setup: Setup) => void;
  /** What is entered, with the values that the model of the form does not take. */
  readonly setup: Setup;
  /** The request without its files. */
  readonly request: Omit<GenerationRequest, 'reference_upload_ids'>;
  /** The errors of values that cannot be sent, by the pointer of the field. */
  readonly faults: Readonly<Record<string, string>>;
}

/** The state of the form. Values that two models share are kept when another one is chosen. */
export function useForm(models: readonly ConsoleModel[], first: ConsoleModel, initial: Setup): Form {
  const [setup, setSetup] = useState(initial);
  const { prompt, negative_prompt: negativePrompt, texts } = setup;
  const model = models.find(({ model_key: one }) => one === setup.model_key) ?? first;
  const fields = useMemo(() => parameterFields(model), [model]);
  const { parameters, faults } = useMemo(() => readParameters(fields, texts), [fields, texts]);
  const change = (changes: Partial<Setup>): void => setSetup((before) => ({ ...before, ...changes }));
  const request = {
    model_key: model.model_key,
    operation: model.operations[0] ?? 'image_generation',
    ...(prompt.trim() === '' || model.prompt_rule === 'none' ? {} : { prompt }),
    ...(model.limits.negative_prompt && negativePrompt.trim() !== '' ? { negative_prompt: negativePrompt } : {}),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
  } as const;
  return {
    model,
    pickModel: (key) => change({ model_key: key }),
    prompt,
    setPrompt: (text) => change({ prompt: text }),
    negativePrompt,
    setNegativePrompt: (text) => change({ negative_prompt: text }),
    fields,
    texts,
    setText: (name, text) => setSetup((before) => ({ ...before, texts: { ...before.texts, [name]: text } })),
    fill: setSetup,
    setup,
    request,
    faults,
  };
}

export interface KnownRequest {
  readonly model_key: string;
  readonly prompt?: string | null | undefined;
  readonly negative_prompt?: string | null | undefined;
  readonly parameters: JsonObject;
  /** The names of parameters that have their defaults, which a person does not enter. */
  readonly defaults?: readonly string[];
}

/** What a person would have entered for a request. */
export function setupOf(models: readonly ConsoleModel[], known: KnownRequest): Setup {
  const model = models.find(({ model_key: one }) => one === known.model_key);
  const entered = Object.entries(known.parameters).filter(([name]) => known.defaults?.includes(name) !== true);
  return {
    model_key: known.model_key,
    prompt: known.prompt ?? '',
    negative_prompt: known.negative_prompt ?? '',
    texts: model === undefined ? {} : textsOf(parameterFields(model), Object.fromEntries(entered)),
  };
}

/** The same text for two setups that ask for the same. */
export function keyOf({ model_key, prompt, negative_prompt, texts }: Setup): string {
  const entered = Object.entries(texts).filter(([, text]) => text !== '');
  return JSON.stringify([model_key, prompt, negative_prompt, entered.toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}
