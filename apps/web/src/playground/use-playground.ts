import { useEffect, useRef, useState } from 'preact/hooks';
import type { GenerationRequest, Task } from '../api-types.js';
import { isOpen } from '../generations/generation-texts.js';
import type { ConsoleModel } from '../models/use-models.js';
import { handedPrompt } from '../frame/shortcuts.js';
import { announce, say } from '../parts/toasts.js';
import { changeQuery, goTo, hrefOf, place } from '../places.js';
import type { AccountGeneration, GenerationDetail, GenerationInput, Overview } from '../server-types.js';
import { change, codeOf, inApp, isUnreachable, randomKey, read } from '../server.js';
import { reloadOverview } from '../session.js';
import { useData } from '../use-data.js';
import type { CodeRequest } from './code/request-code.js';
import { keepDraft, readDraft, type Setup } from './draft.js';
import { type Refusal, refusalIn, useEstimate } from './form/act-bar.js';
import { layoutOf, type ParameterField, parameterFields, randomSeed } from './form/parameters.js';
import { fileOf, type References, useReferences } from './form/references.js';
import { type Form, keyOf, type KnownRequest, setupOf, useForm } from './form/use-form.js';
import type { Made, ResultActs, View } from './result/result-pane.js';

/** A refusal, by the server or by this page. */
interface CreateFault extends Refusal {
  /** The request that was refused: what has changed since then may be valid. */
  readonly asked: string;
}

interface PlaygroundParts {
  overview: Overview;
  models: readonly ConsoleModel[];
  /** The model that the form begins with, if nothing names another one. */
  first: ConsoleModel;
  root: { readonly current: HTMLElement | null };
}

/** The state of the playground: what is entered, what was created, and what is shown. */
export function usePlayground({ overview, models, first, root }: PlaygroundParts) {
  const { console_app_id: appId, account } = overview;
  const { from } = place.value.query;
  const form = useForm(models, first, () => initialSetup(account.id, models, first));
  const { model, setup, faults } = form;
  const references = useReferences(appId);
  const [view, setView] = useState<View>('result');
  const [made, setMade] = useState<readonly Made[]>([]);
  const [warned, setWarned] = useState('');
  const details = useData(from === undefined ? '' : `/generations/${encodeURIComponent(from)}`, { load: readDetails });
  const history = useHistory(appId);
  const filling = useFilling({ form, references, models, details: details.value, from, appId });
  // The example is in the form now, where a person may change it.
  useEffect(() => changeQuery({ example: undefined }), []);
  useEffect(() => keepDraft(account.id, { from: from ?? '', setup }), [account.id, from, setup]);
  useHandedPrompt((prompt) => form.change({ prompt }));

  const ids = model.limits.max_reference_uploads === 0 ? [] : references.all.flatMap(({ uploadId }) => uploadId ?? []);
  const request = { ...form.request, ...(ids.length === 0 ? {} : { reference_upload_ids: ids }) };
  const asked = JSON.stringify(request);
  const estimated = useEstimate(appId, Object.keys(faults).length > 0 ? undefined : request);
  const reload = (): void => void Promise.all([reloadOverview(), history.reload()]);
  const creating = useCreating(appId, root, (one) => {
    const { generation_id: id } = one.task;
    setMade((before) => [one, ...before]);
    filling.created(id);
    if (place.value.page === 'playground') goTo(hrefOf('playground', { query: { from: id } }), { keepsScroll: true });
    reload();
  });
  const fault = creating.fault?.asked === asked ? creating.fault : undefined;
  const hasFailed = ({ generation_id: id }: Task): boolean =>
    ['failed', 'cancelled'].includes(history.generations.find((one) => one.generation_id === id)?.status ?? '');
  const wasMade = made.some((one) => JSON.stringify(one.request) === asked && !hasFailed(one.task));
  const isRepeat = form.request.parameters?.['seed'] !== undefined && (wasMade || filling.isSame);

  const vary = (field: ParameterField): void => {
    const seed = randomSeed(field);
    form.setText(field.name, seed);
    say(`Seed ${seed} is set.`);
    root.current?.querySelector<HTMLElement>('.act-bar [type=submit]')?.focus();
  };
  const ownSeed = seedOf(form.fields);
  const create = (wanted: GenerationRequest): void => {
    setView('result');
    void creating.create(wanted);
  };
  const submit = (event?: SubmitEvent): void => {
    event?.preventDefault();
    if (creating.asked !== undefined) return;
    const why = whyNotYet(form, references);
    if (why !== undefined) creating.setFault({ ...why, asked });
    else if (isRepeat && warned !== asked) setWarned(asked);
    else create(request);
  };
  return {
    from,
    form,
    references,
    view,
    setView,
    details,
    request,
    estimated,
    fault,
    submit,
    creating: creating.asked,
    shown: made.find(({ task }) => task.generation_id === from),
    history: history.generations,
    /** Set once the person has been told that the request repeats an earlier one. */
    varySeed: warned === asked && isRepeat && ownSeed !== undefined ? () => vary(ownSeed) : undefined,
    acts: {
      ...actsOf({ form, references, models, filling, vary }),
      again: (of: GenerationDetail) =>
        create(made.find(({ task }) => task.generation_id === of.generation_id)?.request ?? requestOf(of)),
      ended: reload,
    },
    faultAt: (pointer: string) => faultAt(pointer, faults, fault, estimated.refused),
  };
}

interface ActParts extends Pick<FillingParts, 'form' | 'references' | 'models'> {
  filling: ReturnType<typeof useFilling>;
  vary: (field: ParameterField) => void;
}

/** What a result offers for the form. */
function actsOf({ form, references, models, filling, vary }: ActParts): Omit<ResultActs, 'again' | 'ended'> {
  const { model } = form;
  const fieldsOf = (key: string): readonly ParameterField[] => {
    const found = models.find(({ model_key: one }) => one === key);
    return found === undefined ? [] : parameterFields(found);
  };
  return {
    layoutOf: (of) => layoutOf(fieldsOf(of.model_key), of.parameters),
    vary: (of) => {
      const field = seedOf(fieldsOf(of.model_key));
      if (field === undefined) return undefined;
      return () => {
        filling.fill(setupOf(models, of));
        vary(field);
      };
    },
    adopt: filling.isSame ? undefined : filling.adopt,
    refer:
      model.limits.max_reference_uploads > references.all.length
        ? async (output) => {
            references.take(model, [await fileOf(output)]);
            announce('The image is added to the references.');
          }
        : undefined,
  };
}

/** The request with its files, as programs have them. */
export function codeRequest({ request, model }: Form, { all }: References): CodeRequest {
  const references = all.map(({ name, file, role }) => ({
    role,
    filename: file === undefined ? undefined : name,
    media_type: file?.type,
  }));
  return { ...request, references: model.limits.max_reference_uploads === 0 ? [] : references };
}

/** A required field that is empty is an error when somebody tries to create, and not while they fill the form in. */
function faultAt(pointer: string, own: Form['faults'], fault: Refusal | undefined, refused: Refusal | undefined) {
  if (own[pointer] !== undefined) return own[pointer];
  if (fault !== undefined && isAt(fault.pointer, pointer)) return fault.sentence;
  return refused?.code === 'FIELD_INVALID' && isAt(refused.pointer, pointer) ? refused.sentence : undefined;
}

const seedOf = (fields: readonly ParameterField[]) => fields.find(({ kind }) => kind === 'seed');

/** An error within the value of a parameter is shown at the parameter; one of all parameters, at no single one. */
function isAt(fault: string, field: string): boolean {
  return fault === field || (field.startsWith('/parameters/') && fault.startsWith(`${field}/`));
}

/** What the form begins with: an example of a model, or the draft of this address with the model that it names. */
function initialSetup(accountId: string, models: readonly ConsoleModel[], first: ConsoleModel): Setup {
  const { from = '', model: named, example } = place.value.query;
  const model = models.find(({ model_key: key }) => key === named);
  const shown = model?.examples[Number(example)];
  if (model !== undefined && shown !== undefined) return setupOf(models, { ...shown, model_key: model.model_key });
  const draft = readDraft(accountId);
  const setup = draft?.from === from ? draft.setup : setupOf([], { model_key: first.model_key, parameters: {} });
  return named === undefined ? setup : { ...setup, model_key: named };
}

/** Takes the prompt that a person has typed into the palette. */
function useHandedPrompt(take: (prompt: string) => void): void {
  const handed = handedPrompt.value;
  useEffect(() => {
    if (handed === undefined) return;
    take(handed);
    handedPrompt.value = undefined;
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [handed]);
}

/** All of a generation that the server has stored. */
async function readDetails(path: string, signal?: AbortSignal): Promise<GenerationDetail | undefined> {
  if (path === '') return undefined;
  const details = await read<GenerationDetail>(path, signal);
  if (details.request !== null) return details;
  // Where the operator hides requests, people still see those of this page.
  const { input } = await read<{ input: GenerationInput | null }>(`/playground${path}/input`, signal).catch(() => ({
    input: null,
  }));
  if (input === null) return details;
  const { prompt, negative_prompt: negative, parameters } = input;
  // Their addresses are not given; an empty one stands for a file that is still stored.
  const references = input.references.map((one) => ({ ...one, media_type: '', byte_size: 0, url: '' }));
  const request = { prompt, ...(negative === null ? {} : { negative_prompt: negative }), parameters, references };
  return { ...details, request: { ...request, defaults: [] } };
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

interface FillingParts {
  form: Form;
  references: References;
  models: readonly ConsoleModel[];
  details: GenerationDetail | undefined;
  from: string | undefined;
  appId: string;
}

/** Fills the form with the request of the generation that is shown, unless the person is writing another one. */
function useFilling({ form, references, models, details, from, appId }: FillingParts) {
  /** The generation that the form has been filled for, and the setup as it was then. */
  const filledFor = useRef(form.setup.prompt === '' ? undefined : from);
  const filled = useRef('');
  const current = keyOf(form.setup);
  const setupFor = ({ request, model_key }: GenerationDetail): Setup | undefined =>
    request === null ? undefined : setupOf(models, { ...request, model_key });
  const wanted = details === undefined ? undefined : setupFor(details);
  const isSame = wanted !== undefined && keyOf(wanted) === current;
  const fill = (setup: Setup): void => {
    filled.current = keyOf(setup);
    form.fill(setup);
  };
  const adopt = (of: GenerationDetail): void => {
    const setup = setupFor(of);
    if (setup === undefined) return;
    fill(setup);
    void references.adopt(of.request?.references ?? [], of.app.id === appId);
  };
  useEffect(() => {
    if (details === undefined) return;
    if (isSame) filled.current = current;
    const isEdited = filled.current !== current && form.setup.prompt !== '';
    if (filledFor.current === from || isEdited) return;
    filledFor.current = from;
    adopt(details);
    // When another generation is shown, and not when the form changes.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [from, details?.generation_id]);
  const created = (id: string): void => {
    filledFor.current = id;
    filled.current = current;
  };
  return { fill, adopt, created, isSame };
}

/** Codes that do not tell whether the generation was created: a retry with the same key finds out. */
const UNKNOWN = ['SERVICE_UNAVAILABLE', 'INTERNAL_ERROR', 'IDEMPOTENCY_IN_PROGRESS', 'REQUEST_TIMEOUT'];

/** A create whose outcome is not known, with its key. */
let pending: { asked: string; key: string } | undefined;

/**
 * Creates, one at a time, and says why it was refused. A create whose outcome is not known is repeated under its key: soon, and
 * when the person tries again.
 */
function useCreating(appId: string, root: PlaygroundParts['root'], created: (made: Made) => void) {
  const [asked, setAsked] = useState<KnownRequest>();
  const [fault, setFault] = useState<CreateFault>();
  useEffect(() => {
    if (fault === undefined) return;
    const found = root.current?.querySelector<HTMLElement>('.play-fields [aria-invalid=true]');
    const field = found?.matches('[role]') === true ? found.querySelector('input') : found;
    field?.focus({ preventScroll: true });
    field?.scrollIntoView({ block: 'center' });
  }, [fault, root]);
  const isCreating = asked !== undefined;
  useEffect(() => {
    // On a narrow screen the result is below the form.
    if (isCreating) root.current?.querySelector('.play-out')?.scrollIntoView();
  }, [isCreating, root]);
  const create = async (request: GenerationRequest): Promise<void> => {
    const text = JSON.stringify(request);
    const key = pending?.asked === text ? pending.key : randomKey();
    pending = { asked: text, key };
    setFault(undefined);
    setAsked({ ...request, parameters: { ...request.parameters } });
    try {
      const task = await change<Task>(inApp(appId, '/generations'), request, { idempotencyKey: key });
      pending = undefined;
      created({ task, request });
    } catch (error) {
      const isUnknown = isUnreachable(error) || UNKNOWN.includes(codeOf(error));
      if (!isUnknown) pending = undefined;
      const more = isUnknown ? ' If the request was accepted, trying again finds it and creates nothing twice.' : '';
      const refusal = refusalIn(error);
      setFault({ ...refusal, sentence: refusal.sentence + more, asked: text });
    } finally {
      setAsked(undefined);
    }
  };
  return { asked, fault, setFault, create };
}

/** The request of an earlier generation of this page. */
function requestOf({ model_key, operation, request }: GenerationDetail): GenerationRequest {
  const { prompt, negative_prompt, parameters = {}, references = [] } = request ?? {};
  const ids = references.map(({ upload_id: id }) => id);
  return {
    model_key,
    operation,
    ...(prompt ? { prompt } : {}),
    ...(negative_prompt ? { negative_prompt } : {}),
    parameters,
    ...(ids.length === 0 ? {} : { reference_upload_ids: ids }),
  };
}

/** What stands in the way of a create, before the server is asked. */
function whyNotYet({ model, setup, faults }: Form, { all }: References): Refusal | undefined {
  const [invalid] = Object.entries(faults);
  const [pointer, sentence] =
    model.prompt_rule === 'required' && setup.prompt.trim() === ''
      ? ['/prompt', 'Write a prompt first.']
      : (invalid ??
        (all.some(({ state }) => state === 'uploading')
          ? ['', 'A reference file is still uploading. Try again in a moment.']
          : all.some(({ state }) => state === 'failed')
            ? ['', 'A reference file was not uploaded. Upload it again, or remove it.']
            : []));
  return pointer === undefined || sentence === undefined ? undefined : { pointer, sentence, code: '' };
}
