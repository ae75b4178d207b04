import type { ComponentChildren } from 'preact';
import { useEffect, useId, useMemo, useState } from 'preact/hooks';
import type { Estimate, GenerationRequest, Json, JsonObject, Model } from '../../api-types.js';
import { inApp } from '../../apps/usable-apps.js';
import { numberText } from '../../format.js';
import type { GenerationInput, Overview } from '../../server-types.js';
import { change, codeOf, pointerOf, sentenceOf } from '../../server.js';
import { ReferenceList, type References } from '../reference-list.js';

interface FieldFrameProps {
  /** One of its own when absent. */
  readonly id?: string;
  readonly label: string;
  /** Empty where there is none. */
  readonly note: string;
  /** Why its value was not taken. */
  readonly fault: string | undefined;
  readonly isRequired: boolean;
  /** The control, with these attributes. */
  readonly children: (about: ControlAttributes) => ComponentChildren;
}

/** The attributes that tie a control to its label, its note and its fault. */
export interface ControlAttributes {
  readonly 'id': string;
  readonly 'aria-invalid': true | undefined;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-required': true | undefined;
}

/** A control with its label, what is said of it and what is wrong with it. */
function FieldFrame({ id: given, label, note, fault, isRequired, children }: FieldFrameProps) {
  const own = useId();
  const id = given ?? own;
  const described = [note === '' ? '' : `${id}-note`, fault === undefined ? '' : `${id}-fault`].join(' ').trim();
  return (
    <div class="field">
      <label for={id}>
        {label}
        {isRequired ? null : <span class="small muted"> (optional)</span>}
      </label>
      {children({
        'id': id,
        'aria-invalid': fault === undefined ? undefined : true,
        'aria-describedby': described === '' ? undefined : described,
        'aria-required': isRequired ? true : undefined,
      })}
      {note === '' ? null : <small id={`${id}-note`}>{note}</small>}
      {fault === undefined ? null : (
        <p id={`${id}-fault`} class="field-fault">
          {fault}
        </p>
      )}
    </div>
  );
}

/** How a parameter is asked for. `json`: as text, where no simpler field takes all its values. */
export type FieldKind =
  | { readonly kind: 'choice'; readonly choices: readonly Json[] }
  | {
      readonly kind: 'number';
      readonly step: number | 'any';
      readonly min: number | undefined;
      readonly max: number | undefined;
    }
  | { readonly kind: 'switch' }
  | { readonly kind: 'text'; readonly isLong: boolean }
  | { readonly kind: 'json' };

export interface ParameterField {
  readonly name: string;
  readonly label: string;
  readonly note: string;
  readonly isRequired: boolean;
  readonly defaultValue: Json | undefined;
  readonly field: FieldKind;
}

/** A text of more characters than this gets more lines. */
const LONG = 120;

/** The parameters of a model in the order of its schema; undefined for a schema that does not list them. */
function parameterFields({ input_schema }: Pick<Model, 'input_schema'>): ParameterField[] | undefined {
  const schema = input_schema as JsonObject;
  const properties = objectOf(schema['properties']);
  if (properties === undefined) return undefined;
  const { required } = schema;
  const isRequired = (name: string) => Array.isArray(required) && required.includes(name);
  return Object.entries(properties).map(([name, sub]) => fieldOf(name, objectOf(sub) ?? {}, isRequired(name)));
}

function fieldOf(name: string, schema: JsonObject, isRequired: boolean): ParameterField {
  const { title, description, default: defaultValue } = schema;
  const field = kindOf(schema);
  const notes = [typeof description === 'string' ? description : '', boundsText(schema, field)];
  return {
    name,
    label: typeof title === 'string' && title !== '' ? title : name,
    note: notes.filter((text) => text !== '').join(' '),
    isRequired,
    defaultValue,
    field,
  };
}

/**
 * The kind of field for a schema. Rules that the field does not support are left to the server, whose error is shown
 * at the field.
 */
function kindOf(schema: JsonObject): FieldKind {
  const { type } = schema;
  const choices = schema['enum'];
  if (Array.isArray(choices)) return { kind: 'choice', choices: choices as readonly Json[] };
  if (type === 'boolean') return { kind: 'switch' };
  if (type === 'integer' || type === 'number')
    return {
      kind: 'number',
      step: numberOf(schema['multipleOf']) ?? (type === 'integer' ? 1 : 'any'),
      min: numberOf(schema['minimum']),
      max: numberOf(schema['maximum']),
    };
  if (type === 'string') return { kind: 'text', isLong: (numberOf(schema['maxLength']) ?? 0) > LONG };
  return { kind: 'json' };
}

function boundsText(schema: JsonObject, { kind }: FieldKind): string {
  if (kind === 'json') return 'As JSON.';
  const [min, max] = [numberOf(schema['minimum']), numberOf(schema['maximum'])];
  if (kind === 'number' && min !== undefined && max !== undefined) return `${min} to ${max}.`;
  const longest = numberOf(schema['maxLength']);
  return kind === 'text' && longest !== undefined ? `At most ${longest} characters.` : '';
}

function objectOf(value: Json | undefined): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

function numberOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** The value of text that the browser does not accept as a number and does not report. */
const NO_NUMBER = 'NaN';

interface ControlProps {
  readonly field: ParameterField;
  readonly text: string;
  readonly changed: (text: string) => void;
  readonly about: ControlAttributes;
}

function Control({ field: { field, defaultValue, isRequired }, text, changed, about }: ControlProps) {
  const usual = defaultValue === undefined ? '' : shown(defaultValue);
  const input = { ...about, value: text, placeholder: usual };
  switch (field.kind) {
    case 'choice':
    case 'switch': {
      const choices: readonly Json[] = field.kind === 'choice' ? field.choices : [true, false];
      return (
        <select {...about} value={text} onChange={({ currentTarget }) => changed(currentTarget.value)}>
          <option value="">{usual === '' ? (isRequired ? 'Choose' : 'Not set') : `${usual} (default)`}</option>
          {choices
            .filter((choice) => JSON.stringify(choice) !== JSON.stringify(defaultValue))
            .map((choice) => (
              <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
                {shown(choice)}
              </option>
            ))}
        </select>
      );
    }
    case 'number':
      return (
        <input
          {...input}
          type="number"
          step={field.step}
          min={field.min}
          max={field.max}
          autocomplete="off"
          onInput={({ currentTarget }) => changed(currentTarget.validity.badInput ? NO_NUMBER : currentTarget.value)}
        />
      );
    case 'text':
    case 'json':
      return field.kind === 'text' && !field.isLong ? (
        <input
          {...input}
          type="text"
          autocomplete="off"
          onInput={({ currentTarget }) => changed(currentTarget.value)}
        />
      ) : (
        <textarea
          {...input}
          rows={field.kind === 'json' ? 4 : 3}
          class={field.kind === 'json' ? 'code' : undefined}
          spellcheck={field.kind === 'text'}
          onInput={({ currentTarget }) => changed(currentTarget.value)}
        />
      );
    default:
      return null;
  }
}

function shown(value: Json): string {
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The texts of the fields, by the names of the parameters. A text that is empty is a parameter that is not sent. */
export type FieldTexts = Readonly<Record<string, string>>;

/** The name under which parameters are kept as one text, where the schema does not list them. No parameter is called so. */
const ALL_PARAMETERS = '';

export interface ReadParameters {
  readonly parameters: JsonObject;
  /** The faults of values that cannot be sent, by the pointer of the field in the request. */
  readonly faults: Readonly<Record<string, string>>;
}

/** The parameters that the fields stand for. */
export function readParameters(fields: readonly ParameterField[] | undefined, texts: FieldTexts): ReadParameters {
  if (fields === undefined) return readAll(texts[ALL_PARAMETERS] ?? '');
  const parameters: Record<string, Json> = {};
  const faults: Record<string, string> = {};
  for (const field of fields) {
    const text = texts[field.name] ?? '';
    if (text.trim() === '') continue;
    const value = valueOf(field, text);
    if (value === undefined) faults[pointerTo(field.name)] = faultOf(field);
    else parameters[field.name] = value;
  }
  return { parameters, faults };
}

function readAll(text: string): ReadParameters {
  if (text.trim() === '') return { parameters: {}, faults: {} };
  const value = parsed(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { parameters: value as JsonObject, faults: {} }
    : { parameters: {}, faults: { '/parameters': 'The parameters must be a JSON object.' } };
}

function valueOf({ field }: ParameterField, text: string): Json | undefined {
  switch (field.kind) {
    case 'text':
      return text;
    case 'number':
      return Number.isFinite(Number(text)) ? Number(text) : undefined;
    case 'choice':
    case 'switch':
    case 'json':
      return parsed(text);
    default:
      return undefined;
  }
}

function faultOf({ label, field }: ParameterField): string {
  return field.kind === 'number' ? `${label} must be a number.` : `${label} must be JSON.`;
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The texts that stand for parameters. */
export function textsOf(fields: readonly ParameterField[] | undefined, parameters: JsonObject): FieldTexts {
  if (fields === undefined) return { [ALL_PARAMETERS]: JSON.stringify(parameters, null, 2) };
  const known = fields.flatMap(({ name, field }) => {
    const value = parameters[name];
    if (value === undefined) return [];
    return [[name, field.kind === 'text' && typeof value === 'string' ? value : JSON.stringify(value)] as const];
  });
  return Object.fromEntries(known);
}

/** The JSON Pointer of a parameter in a request. */
export function pointerTo(name: string): string {
  return `/parameters/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

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
  /** The request without its files. */
  readonly request: Omit<GenerationRequest, 'reference_upload_ids'>;
  /** The faults of values that cannot be sent, by the pointer of the field. */
  readonly faults: Readonly<Record<string, string>>;
}

/** The state of the form. Values that two models share are kept when another one is chosen. */
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
    ...(prompt.trim() === '' ? {} : { prompt }),
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

/** A sentence of the server or of this page about a field, by its JSON Pointer. */
export type FaultAt = (pointer: string) => string | undefined;

interface RequestFormProps {
  readonly models: readonly Model[];
  readonly form: Form;
  readonly references: References;
  readonly faultAt: FaultAt;
}

/** The fields of a request: the model, the prompts, what the model takes besides, and files. */
export function RequestForm({ models, form, references, faultAt }: RequestFormProps) {
  const { model } = form;
  return (
    <>
      <label class="field">
        Model
        <select value={model.model_key} onChange={({ currentTarget }) => form.pickModel(currentTarget.value)}>
          {models.map(({ model_key: key, display_name: name }) => (
            <option key={key} value={key}>
              {name}
            </option>
          ))}
        </select>
        {model.description === undefined ? null : <small>{model.description}</small>}
      </label>
      <TextField
        id="prompt"
        label="Prompt"
        text={form.prompt}
        changed={form.setPrompt}
        fault={faultAt('/prompt')}
        isRequired
      />
      {model.limits.negative_prompt ? (
        <TextField
          id="negative-prompt"
          label="Negative prompt"
          text={form.negativePrompt}
          changed={form.setNegativePrompt}
          fault={faultAt('/negative_prompt')}
        />
      ) : null}
      <ReferenceList
        model={model}
        references={references}
        faultAt={(index) => faultAt(`/reference_upload_ids/${index}`)}
        fault={faultAt('/reference_upload_ids')}
      />
      <ParameterFields form={form} faultAt={faultAt} />
    </>
  );
}

function ParameterFields({ form, faultAt }: Pick<RequestFormProps, 'form' | 'faultAt'>) {
  const { fields, texts, setText } = form;
  if (fields === undefined)
    return (
      <TextField
        id="parameters"
        label="Parameters"
        note="As a JSON object."
        text={texts[ALL_PARAMETERS] ?? ''}
        changed={(text) => setText(ALL_PARAMETERS, text)}
        fault={faultAt('/parameters')}
      />
    );
  if (fields.length === 0) return null;
  return (
    <div class="fields">
      {fields.map((field) => (
        // Another model's parameter of this name is another field.
        <FieldFrame key={`${form.model.model_key} ${field.name}`} {...field} fault={faultAt(pointerTo(field.name))}>
          {(about) => (
            <Control
              field={field}
              text={texts[field.name] ?? ''}
              changed={(text) => setText(field.name, text)}
              about={about}
            />
          )}
        </FieldFrame>
      ))}
    </div>
  );
}

interface TextFieldProps {
  readonly id: string;
  readonly label: string;
  readonly note?: string;
  readonly text: string;
  readonly changed: (text: string) => void;
  readonly fault: string | undefined;
  readonly isRequired?: boolean;
}

function TextField({ id, label, note = '', text, changed, fault, isRequired = false }: TextFieldProps) {
  return (
    <FieldFrame id={id} label={label} note={note} fault={fault} isRequired={isRequired}>
      {(about) => (
        <textarea
          {...about}
          rows={isRequired ? 3 : 2}
          value={text}
          onInput={({ currentTarget }) => changed(currentTarget.value)}
        />
      )}
    </FieldFrame>
  );
}

/** How long the form rests before it is estimated, in milliseconds. */
const REST_MS = 400;

export type Estimated =
  | { readonly state: 'unknown' }
  | { readonly state: 'known'; readonly credits: number }
  /** It cannot be paid, or not be said: why. */
  | {
      readonly state: 'refused';
      readonly sentence: string;
      readonly code: string;
      readonly pointer: string;
    };

/** The cost of the request, a moment after it has changed. The price does not depend on the prompt. */
export function useEstimate(appId: string, request: GenerationRequest | undefined): Estimated {
  const [estimated, setEstimated] = useState<Estimated>({ state: 'unknown' });
  const asked = request === undefined ? undefined : JSON.stringify({ ...request, prompt: '-' });
  useEffect(() => {
    if (asked === undefined) return setEstimated({ state: 'unknown' });
    const leaving = new AbortController();
    const { signal } = leaving;
    const timer = setTimeout(() => {
      change<Estimate>(inApp(appId, '/generations/estimate'), JSON.parse(asked) as object, { signal }).then(
        ({ estimated_credits: credits }) => setEstimated({ state: 'known', credits }),
        (error: unknown) => {
          if (signal.aborted) return;
          setEstimated({
            state: 'refused',
            sentence: sentenceOf(error),
            code: codeOf(error),
            pointer: pointerOf(error),
          });
        },
      );
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [appId, asked]);
  return estimated;
}

interface EstimateLineProps {
  readonly estimated: Estimated;
  readonly account: Overview['account'];
}

/** The highest cost of the request, or why it is unknown or cannot be paid. */
export function EstimateLine({ estimated, account }: EstimateLineProps) {
  return (
    <p class="estimate" aria-live="polite">
      {textOf(estimated, account)}
    </p>
  );
}

function textOf(estimated: Estimated, { currency, available_credits: available }: EstimateLineProps['account']) {
  if (estimated.state === 'unknown') return '';
  if (estimated.state === 'known')
    return (
      <>
        <strong>{`${numberText(estimated.credits)} ${currency}`}</strong>
        <span class="small muted">{` at most, of ${numberText(available)} available`}</span>
      </>
    );
  // A field that is at fault says so itself.
  if (estimated.pointer !== '') return <span class="small muted">The cost is shown once the fields are valid.</span>;
  return estimated.sentence;
}
