import { useState } from 'preact/hooks';
import type { GenerationRequest, JsonObject } from '../../api-types.js';
import type { ConsoleModel } from '../../models/use-models.js';
import type { Setup } from '../draft.js';
import { parameterFields, readParameters, textsOf } from './parameters.js';

/** The state of the form. Values that two models share are kept when another one is chosen. */
export function useForm(models: readonly ConsoleModel[], first: ConsoleModel, initial: () => Setup) {
  const [setup, fill] = useState(initial);
  const model = models.find(({ model_key: one }) => one === setup.model_key) ?? first;
  const fields = parameterFields(model);
  const { parameters, faults } = readParameters(fields, setup.texts);
  const { prompt, negative_prompt } = setup;
  const request: GenerationRequest & { parameters?: JsonObject } = {
    model_key: model.model_key,
    operation: model.operations[0] ?? 'image_generation',
    ...(prompt.trim() === '' || model.prompt_rule === 'none' ? {} : { prompt }),
    ...(model.limits.negative_prompt && negative_prompt.trim() !== '' ? { negative_prompt } : {}),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
  };
  return {
    model,
    fields,
    /** What is entered, with the values that the model of the form does not take. */
    setup,
    /** Replaces everything that is entered. */
    fill,
    change: (changes: Partial<Setup>) => fill((before) => ({ ...before, ...changes })),
    setText: (name: string, text: string) =>
      fill((before) => ({ ...before, texts: { ...before.texts, [name]: text } })),
    /** The request without its files. */
    request,
    /** The errors of values that cannot be sent, by the pointer of the field. */
    faults,
  };
}

export type Form = ReturnType<typeof useForm>;

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
  const { model_key, prompt, negative_prompt, parameters, defaults = [] } = known;
  const model = models.find(({ model_key: one }) => one === model_key);
  const entered = Object.entries(parameters).filter(([name]) => !defaults.includes(name));
  return {
    model_key,
    prompt: prompt ?? '',
    negative_prompt: negative_prompt ?? '',
    texts: model === undefined ? {} : textsOf(parameterFields(model), Object.fromEntries(entered)),
  };
}

/** The same text for two setups that ask for the same. */
export function keyOf({ model_key, prompt, negative_prompt, texts }: Setup): string {
  const entered = Object.entries(texts).filter(([, text]) => text !== '');
  return JSON.stringify([model_key, prompt, negative_prompt, entered.toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}
