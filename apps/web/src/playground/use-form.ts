import { useMemo, useState } from 'preact/hooks';
import type { GenerationRequest, Model } from '../api-types.js';
import { parameterFields, type ParameterField } from './form/parameter-field.js';
import { readParameters, textsOf, type FieldTexts } from './form/parameter-values.js';
import type { GenerationInput } from '../server-types.js';

export interface Form {
  readonly model: Model;
  readonly pickModel: (key: string) => void;
  readonly prompt: string;
  readonly setPrompt: (text: string) => void;
  readonly negativePrompt: string;
  readonly setNegativePrompt: (text: string) => void;
  readonly fields: readonly ParameterField[] | undefined;
  readonly texts: FieldTexts;
  readonly setText: (name: string, text: string) => void;
  /** What is asked for, without its files. */
  readonly request: Omit<GenerationRequest, 'reference_upload_ids'>;
  /** What cannot be sent at all, by the pointer of its field. */
  readonly faults: Readonly<Record<string, string>>;
}

/** What is in the form. What models have in common stays when another one is picked. */
export function useForm(models: readonly Model[], first: Model, known: GenerationInput | undefined): Form {
  const [key, setKey] = useState(known?.model_key ?? first.model_key);
  const [prompt, setPrompt] = useState(known?.prompt ?? '');
  const [negativePrompt, setNegativePrompt] = useState(known?.negative_prompt ?? '');
  const model = models.find(({ model_key: one }) => one === key) ?? first;
  const fields = useMemo(() => parameterFields(model), [model]);
  const [texts, setTexts] = useState<FieldTexts>(() => textsOf(fields, known?.parameters ?? {}));
  const { parameters, faults } = useMemo(() => readParameters(fields, texts), [fields, texts]);
  const request = {
    model_key: model.model_key,
    operation: model.operations[0] ?? 'image_generation',
    prompt,
    ...(model.limits.negative_prompt && negativePrompt.trim() !== '' ? { negative_prompt: negativePrompt } : {}),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
  } as const;
  return {
    model,
    pickModel: setKey,
    prompt,
    setPrompt,
    negativePrompt,
    setNegativePrompt,
    fields,
    texts,
    setText: (name, text) => setTexts((before) => ({ ...before, [name]: text })),
    request,
    faults,
  };
}
