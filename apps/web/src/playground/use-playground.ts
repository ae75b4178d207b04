import { useEffect, useRef, useState } from 'preact/hooks';
import type { Estimate, Task } from '../api-types.js';
import { isOpen } from '../generations/generation-texts.js';
import type { ConsoleModel } from '../models/use-models.js';
import { handedPrompt } from '../frame/shortcuts.js';
import { say } from '../parts/toasts.js';
import { changeQuery, goTo, hrefOf, place } from '../places.js';
import type { AccountGeneration, GenerationDetail, GenerationInput, Overview } from '../server-types.js';
import { atField, change, codeOf, inApp, isUnreachable, pointerOf, randomKey, read, sentenceOf } from '../server.js';
import { overview, reloadOverview } from '../session.js';
import { useData } from '../use-data.js';
import { bodyOf, type CodeRequest, type RequestBody } from './code/request-code.js';
import { keepDraft, readDraft, type Setup, sharedTexts } from './draft.js';
import {
  layoutOf,
  type ParameterField,
  parameterFields,
  randomSeed,
  readParameters,
  textsOf,
} from './form/parameters.js';
import { type References, useReferences } from './form/references.js';

/** Why a request cannot be sent, or was refused. */
export interface Refusal {
  readonly sentence: string;
  /** Empty for one of this page. */
  readonly code: string;
  /** The JSON Pointer of its field; empty for none. */
  readonly pointer: string;
  /** The request that was refused: what has changed since then may be valid. */
  readonly asked: string;
  /** The credits that were available, as far as the page knew. */
  readonly available?: number | undefined;
}

/** Whether credits were missing, and others are available now. */
function isOutdated({ code, available }: Refusal): boolean {
  return code === 'CREDITS_INSUFFICIENT' && available !== overview.value?.account.available_credits;
}

/** A generation that this page has created. */
export interface Made {
  readonly task: Task;
  readonly request: RequestBody;
}

export type View = 'result' | 'code' | 'json';
/** A request whose result is shown. */
export type Asked = Pick<CodeRequest, 'model_key' | 'prompt' | 'negative_prompt' | 'parameters' | 'defaults'>;

/** Those for tests are the last. */
export type Models = readonly [ConsoleModel, ...ConsoleModel[]];
type Root = { readonly current: HTMLElement | null };

/** The state of the playground: what is entered, what was created, and what is shown. */
export function usePlayground({ console_app_id: appId, account }: Overview, models: Models, root: Root) {
  const { from } = place.value.query;
  const form = useForm(models, account.id);
  const { model, setup, faults } = form;
  const references = useReferences(appId, model);
  const [view, setView] = useState<View>('result');
  const [made, setMade] = useState<readonly Made[]>([]);
  const [warned, setWarned] = useState('');
  const details = useData(from === undefined ? '' : `/generations/${encodeURIComponent(from)}`, { load: readDetails });
  const history = useHistory(appId);
  const filling = useFilling(form, references, models, details.value);
  useEffect(() => keepDraft(account.id, { from: from ?? '', setup }), [account.id, from, setup]);

  const files = model.limits.max_reference_uploads === 0 ? [] : references.all;
  const code: CodeRequest = { ...form.request, references: files };
  const request = bodyOf(code);
  const asked = JSON.stringify(request);
  const estimated = useEstimate(appId, Object.keys(faults).length > 0 ? undefined : request);
  const reload = (): void => void Promise.all([reloadOverview(), history.reload()]);
  const { creating, refusal, setRefusal, create } = useCreating(appId, root, (one) => {
    const { generation_id: id } = one.task;
    setMade((before) => [one, ...before]);
    filling.created(id);
    if (place.value.page === 'playground') goTo(hrefOf('playground', { query: { from: id } }), { keepsScroll: true });
    reload();
  });
  const fault = refusal?.asked === asked && !isOutdated(refusal) ? refusal : undefined;
  const isMade = made.some(({ task: { generation_id: id }, request: one }) => {
    const status = history.generations.find((listed) => listed.generation_id === id)?.status;
    return JSON.stringify(one) === asked && status !== 'failed' && status !== 'cancelled';
  });
  const isRepeat = request.parameters?.['seed'] !== undefined && (isMade || filling.isSame);

  const begin = (body: RequestBody): void => {
    setView('result');
    void create(body);
  };
  const vary = (of: Setup): (() => void) | undefined => {
    const field = fieldsOf(models, of.model_key).find(({ kind }) => kind === 'seed');
    if (field === undefined) return undefined;
    return () => {
      const seed = randomSeed(field);
      form.replace({ ...of, texts: { ...of.texts, [field.name]: seed } });
      say(`Seed ${seed} is set.`);
      root.current?.querySelector<HTMLElement>('.act-bar [type=submit]')?.focus();
    };
  };
  const listed = { history: history.generations, made: made.find(({ task }) => task.generation_id === from) };
  const shown = { from, view, setView, details, creating, ...listed };
  const sent = { models, references, code, request, estimated, fault };
  return {
    ...form,
    ...shown,
    ...sent,
    submit: (event?: SubmitEvent): void => {
      event?.preventDefault();
      if (creating !== undefined) return;
      const [sentence, pointer = ''] = whyNotYet(form, references);
      if (sentence !== undefined) setRefusal({ sentence, pointer, code: '', asked });
      else if (isRepeat && warned !== asked) setWarned(asked);
      else begin(request);
    },
    /** Set once the person has been told that the request repeats an earlier one. */
    varySeed: warned === asked && isRepeat ? vary(setup) : undefined,
    /** Puts a request with another seed into the form; undefined where its model takes none. */
    varied: (of: Asked) => vary(setupOf(models, of)),
    /** Puts the request of the shown generation into the form; undefined where it is there already. */
    adopt: filling.isSame ? undefined : filling.adopt,
    /** Creates the same once more. */
    again: (of: GenerationDetail) => {
      const own = made.find(({ task }) => task.generation_id === of.generation_id);
      begin(own?.request ?? bodyOf({ ...of.request, model_key: of.model_key, operation: of.operation, defaults: [] }));
    },
    ended: reload,
    faultAt: (pointer: string) => faultAt(pointer, faults, fault, estimated.refused),
  };
}

export type Playground = ReturnType<typeof usePlayground>;
type Form = ReturnType<typeof useForm>;

/** A required field that is empty is an error when somebody tries to create, and not while they fill the form in. */
function faultAt(pointer: string, own: Form['faults'], fault: Refusal | undefined, refused: Refusal | undefined) {
  if (own[pointer] !== undefined) return own[pointer];
  const found = [fault, refused?.code === 'FIELD_INVALID' ? refused : undefined].find(
    (one) => one !== undefined && isAt(one.pointer, pointer),
  );
  return found && atField(found.sentence, pointer);
}

/** The ratio of width and height, and the number, of the outputs of a request. */
export function outputsOf(models: Models, { model_key: key, parameters = {} }: Asked) {
  return layoutOf(fieldsOf(models, key), parameters);
}

function fieldsOf(models: Models, key: string): readonly ParameterField[] {
  const model = models.find(({ model_key: one }) => one === key);
  return model === undefined ? [] : parameterFields(model);
}

/** An error within the value of a parameter is shown at the parameter; one of all parameters, at no single one. */
const isAt = (fault: string, field: string): boolean =>
  fault === field || (field.startsWith('/parameters/') && fault.startsWith(`${field}/`));

/** The state of the form. Values that two models share are kept when another one is chosen. */
function useForm(models: Models, accountId: string) {
  const [setup, fill] = useState(() => initialSetup(models, accountId));
  const { prompt, negative_prompt, texts } = setup;
  const model = models.find(({ model_key: one }) => one === setup.model_key) ?? models[0];
  const fields = parameterFields(model);
  const { parameters, faults } = readParameters(fields, texts);
  const set = (changes: Partial<Setup>): void => fill((before) => ({ ...before, ...changes }));
  // The form has the values of the address now, and a person may change them.
  useEffect(() => changeQuery({ example: undefined, parameters: undefined }), []);
  // The prompt that a person typed into the palette.
  const handed = handedPrompt.value;
  useEffect(() => {
    if (handed === undefined) return;
    set({ prompt: handed });
    handedPrompt.value = undefined;
  }, [handed]);
  return {
    model,
    fields,
    /** The entered values, including those that the model of the form does not take. */
    setup,
    /** Replaces everything that is entered. */
    replace: fill,
    change: set,
    setText: (name: string, text: string) => set({ texts: { ...texts, [name]: text } }),
    /** The errors of values that cannot be sent, by the pointer of the field. */
    faults,
    request: {
      model_key: model.model_key,
      operation: model.operations[0] ?? 'image_generation',
      prompt: model.prompt_rule === 'none' ? '' : prompt,
      negative_prompt: model.limits.negative_prompt ? negative_prompt : '',
      parameters,
    },
  };
}

/** The initial values of the form: an example of a model, or the draft of this address with the model that it names. */
function initialSetup(models: Models, accountId: string): Setup {
  const { from = '', model: named, example, parameters } = place.value.query;
  const shown = models.find(({ model_key: key }) => key === named)?.examples[Number(example)];
  if (named !== undefined && shown !== undefined) return setupOf(models, { ...shown, model_key: named });
  const draft = readDraft(accountId);
  const setup = draft?.from === from ? draft.setup : setupOf(models, { model_key: models[0].model_key });
  if (named === undefined) return setup;
  return { ...setup, model_key: named, texts: sharedTexts(parameters) ?? setup.texts };
}

/** The values that a person would have entered for a request. */
function setupOf(models: Models, { model_key, prompt, negative_prompt, parameters = {}, defaults = [] }: Asked): Setup {
  const entered = Object.entries(parameters).filter(([name]) => !defaults.includes(name));
  return {
    model_key,
    prompt: prompt ?? '',
    negative_prompt: negative_prompt ?? '',
    texts: textsOf(fieldsOf(models, model_key), Object.fromEntries(entered)),
  };
}

/** The same text for two setups that ask for the same. */
function keyOf({ model_key, prompt, negative_prompt, texts }: Setup): string {
  const entered = Object.entries(texts).filter(([, text]) => text !== '');
  return JSON.stringify([model_key, prompt, negative_prompt, entered.toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}

/** All of a generation that the server has stored. */
async function readDetails(path: string, signal?: AbortSignal): Promise<GenerationDetail | undefined> {
  if (path === '') return undefined;
  const details = await read<GenerationDetail>(path, signal);
  if (details.request !== null) return details;
  // Where the operator hides requests, people still see those of this page.
  type Answer = { input: GenerationInput | null };
  const { input } = await read<Answer>(`/playground${path}/input`, signal).catch((): Answer => ({ input: null }));
  if (input === null) return details;
  const { prompt, negative_prompt: negative, parameters } = input;
  // Their addresses are not given; an empty one stands for a file that is still stored.
  const references = input.references.map((one) => ({ ...one, media_type: '', byte_size: 0, url: '' }));
  const rest = { parameters, references, defaults: [], ...(negative === null ? {} : { negative_prompt: negative }) };
  return { ...details, request: { prompt, ...rest } };
}

const SLOW_MS = 30_000;
const FAST_MS = 3_000;

/** The last generations of the playground, read again sooner while one has not ended. */
function useHistory(appId: string) {
  const [everyMs, setEvery] = useState(SLOW_MS);
  const path = `/generations?app_id=${appId}&limit=50`;
  const { value, reload } = useData<{ generations: readonly AccountGeneration[] }>(path, { everyMs });
  const { generations = [] } = value ?? {};
  const isWaiting = generations.some(isOpen);
  useEffect(() => setEvery(isWaiting ? FAST_MS : SLOW_MS), [isWaiting]);
  return { generations, reload };
}

/** Fills the form with the request of the generation that is shown, unless the person is writing another one. */
function useFilling(form: Form, references: References, models: Models, details: GenerationDetail | undefined) {
  /** The generation that the form has been filled for, and the setup as it was then. */
  const filledFor = useRef(form.setup.prompt === '' ? undefined : place.value.query['from']);
  const filled = useRef('');
  const current = keyOf(form.setup);
  const setupFor = ({ request, model_key }: GenerationDetail): Setup | undefined =>
    request === null ? undefined : setupOf(models, { ...request, model_key });
  const wanted = details && setupFor(details);
  const isSame = wanted !== undefined && keyOf(wanted) === current;
  const adopt = (of: GenerationDetail): void => {
    const setup = setupFor(of);
    if (setup === undefined) return;
    filled.current = keyOf(setup);
    form.replace(setup);
    void references.adopt(of.request?.references ?? [], of.app.id);
  };
  useEffect(() => {
    if (details === undefined) return;
    if (isSame) filled.current = current;
    const isEdited = filled.current !== current && form.setup.prompt !== '';
    if (filledFor.current === details.generation_id || isEdited) return;
    filledFor.current = details.generation_id;
    adopt(details);
    // When another generation is shown, and not when the form changes.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [details?.generation_id]);
  const created = (id: string): void => {
    filledFor.current = id;
    filled.current = current;
  };
  return { adopt, created, isSame };
}

/** How long the form rests before the cost is requested, in milliseconds. */
const REST_MS = 400;

/**
 * The cost of the request, a moment after it has changed, or after other credits are available where they were missing.
 * The price does not depend on the prompt.
 */
function useEstimate(appId: string, request: RequestBody | undefined) {
  const [known, setKnown] = useState<{ asked?: string; credits?: number; refused?: Refusal }>({});
  const asked = request === undefined ? '' : JSON.stringify({ ...request, prompt: '-' });
  const isCurrent = known.asked === asked;
  const isRefusalOutdated = isCurrent && known.refused !== undefined && isOutdated(known.refused);
  useEffect(() => {
    if (asked === '' || (isCurrent && !isRefusalOutdated)) return;
    const leaving = new AbortController();
    const { signal } = leaving;
    const timer = setTimeout(() => {
      change<Estimate>(inApp(appId, '/generations/estimate'), JSON.parse(asked) as object, { signal }).then(
        ({ estimated_credits: credits }) => setKnown({ asked, credits }),
        (error: unknown) => {
          if (!signal.aborted) setKnown((before) => ({ ...before, asked, refused: refusalIn(error, asked) }));
        },
      );
    }, REST_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [appId, asked, isRefusalOutdated]);
  const { credits, refused } = known;
  return {
    /** The last known cost; undefined before there is one. */
    credits,
    /** Whether the cost is that of the form as it is now. */
    isCurrent: isCurrent && refused === undefined,
    /** Why the service would refuse the request. */
    refused: isCurrent ? refused : undefined,
  };
}

function refusalIn(error: unknown, asked: string): Refusal {
  const available = overview.peek()?.account.available_credits;
  return { sentence: sentenceOf(error), code: codeOf(error), pointer: pointerOf(error), asked, available };
}

/** Codes that do not tell whether the generation was created: a retry with the same key finds out. */
const UNKNOWN = ['SERVICE_UNAVAILABLE', 'INTERNAL_ERROR', 'IDEMPOTENCY_IN_PROGRESS', 'REQUEST_TIMEOUT'];

/** A create whose outcome is not known, with its key. */
let pending: { asked: string; key: string } | undefined;

/**
 * Creates, one at a time, and says why it was refused. A create whose outcome is not known is repeated under its key: soon, and
 * when the person tries again.
 */
function useCreating(appId: string, root: Root, created: (made: Made) => void) {
  const [creating, setCreating] = useState<RequestBody>();
  const [refusal, setRefusal] = useState<Refusal>();
  useEffect(() => {
    if (refusal === undefined) return;
    const found = root.current?.querySelector<HTMLElement>('.play-fields [aria-invalid=true]');
    const field = found?.matches('[role]') === true ? found.querySelector('input') : found;
    field?.focus({ preventScroll: true });
    field?.scrollIntoView({ block: 'center' });
  }, [refusal, root]);
  const isCreating = creating !== undefined;
  useEffect(() => {
    // On a narrow screen the result is below the form.
    if (isCreating) root.current?.querySelector('.play-out')?.scrollIntoView();
  }, [isCreating, root]);
  const create = async (request: RequestBody): Promise<void> => {
    const asked = JSON.stringify(request);
    const key = pending?.asked === asked ? pending.key : randomKey();
    pending = { asked, key };
    setRefusal(undefined);
    setCreating(request);
    try {
      const task = await change<Task>(inApp(appId, '/generations'), request, { idempotencyKey: key });
      pending = undefined;
      created({ task, request });
    } catch (error) {
      const isUnknown = isUnreachable(error) || UNKNOWN.includes(codeOf(error));
      if (!isUnknown) pending = undefined;
      const more = isUnknown ? ' If the request was accepted, trying again finds it and creates nothing twice.' : '';
      setRefusal({ ...refusalIn(error, asked), sentence: sentenceOf(error) + more });
    } finally {
      setCreating(undefined);
    }
  };
  return { creating, refusal, setRefusal, create };
}

/** The reason why a request cannot be sent yet: a sentence with the pointer of its field. */
function whyNotYet({ model, setup, faults }: Form, { all }: References): [sentence?: string, pointer?: string] {
  if (model.prompt_rule === 'required' && setup.prompt.trim() === '') return ['Write a prompt first.', '/prompt'];
  for (const [pointer, sentence] of Object.entries(faults)) return [sentence, pointer];
  if (all.some(({ state }) => state === 'uploading'))
    return ['A reference file is still uploading. Try again in a moment.'];
  if (all.some(({ state }) => state === 'failed'))
    return ['A reference file was not uploaded. Upload it again, or remove it.'];
  return [];
}
