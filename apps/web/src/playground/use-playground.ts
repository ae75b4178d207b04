import { useEffect, useRef, useState } from 'preact/hooks';
import type { GenerationRequest, Output, Task } from '../api-types.js';
import { isOpen } from '../generations/generation-texts.js';
import type { ConsoleModel } from '../models/use-models.js';
import { handedPrompt } from '../frame/shortcuts.js';
import { announce, say } from '../parts/toasts.js';
import { changeQuery, goTo, hrefOf, place } from '../places.js';
import type { AccountGeneration, GenerationDetail, GenerationInput, Overview } from '../server-types.js';
import { codeOf, pointerOf, read, sentenceOf } from '../server.js';
import { reloadOverview } from '../session.js';
import { useAction, useData } from '../use-data.js';
import type { CodeRequest } from './code/request-code.js';
import { Creates, isUnknown } from './creates.js';
import { keepDraft, readDraft, type Setup } from './draft.js';
import { type Estimated, useEstimate } from './form/act-bar.js';
import { countOf, parameterFields, randomSeed, shapeOf } from './form/parameters.js';
import { addFiles, type EarlierReference, fileOf, type References, useReferences } from './form/references.js';
import { type Form, keyOf, setupOf, useForm } from './form/use-form.js';
import type { Asked, Made, ResultActs, View } from './result/result-pane.js';

/** A refusal, by the server or by this page. */
interface CreateFault {
  readonly sentence: string;
  /** The JSON Pointer of its field; empty for none. */
  readonly pointer: string;
  readonly code: string;
  /** The request that was refused: what has changed since then may be valid. */
  readonly asked: string;
}

export interface PlaygroundParts {
  readonly overview: Overview;
  readonly models: readonly ConsoleModel[];
  /** The model that the form begins with, if nothing names another one. */
  readonly first: ConsoleModel;
  readonly root: { readonly current: HTMLElement | null };
}

/** The state of the playground: what is entered, what was created, and what is shown. */
export function usePlayground({ overview, models, first, root }: PlaygroundParts) {
  const { console_app_id: appId, account } = overview;
  const { from } = place.value.query;
  const form = useForm(models, first, useInitial(account.id, models, first));
  const references = useReferences(appId);
  const [fileFault, setFileFault] = useState<string>();
  const [view, setView] = useState<View>('result');
  const [made, setMade] = useState<readonly Made[]>([]);
  const [warned, setWarned] = useState('');
  const details = useDetails(from);
  const history = useHistory(appId);
  useHandedPrompt(form.setPrompt);
  const filling = useFilling({ form, references, models, details: details.value, from, appId });
  useEffect(() => keepDraft(account.id, { from: from ?? '', setup: form.setup }), [account.id, from, form.setup]);

  const request = withFiles(form.request, form.model, references);
  const asked = JSON.stringify(request);
  const estimated = useEstimate(appId, Object.keys(form.faults).length > 0 ? undefined : request);
  const creating = useCreating({
    appId,
    root,
    created: (one) => {
      setMade((before) => [one, ...before]);
      filling.created(one.task.generation_id);
      if (place.value.page === 'playground')
        goTo(hrefOf('playground', { query: { from: one.task.generation_id } }), { keepsScroll: true });
      void reloadOverview();
      void history.reload();
    },
  });
  const fault = creating.fault?.asked === asked ? creating.fault : undefined;
  const wasMade = made.some((one) => JSON.stringify(one.request) === asked && !hasFailed(one.task, history.value));
  const isRepeat = hasSeed(request) && (wasMade || filling.isSame);

  const create = (wanted: GenerationRequest): void => {
    setView('result');
    void creating.create(wanted);
  };
  const submit = (event?: SubmitEvent): void => {
    event?.preventDefault();
    if (creating.asked !== undefined) return;
    const why = whyNotYet(form, references, asked);
    if (why !== undefined) creating.setFault(why);
    else if (isRepeat && warned !== asked) setWarned(asked);
    else create(request);
  };
  const take = (files: readonly File[]): void => setFileFault(addFiles(form.model, references, files));
  return {
    from,
    form,
    references,
    fileFault,
    view,
    setView,
    details,
    request,
    estimated,
    fault,
    creating: creating.asked,
    take,
    submit,
    shown: made.find(({ task }) => task.generation_id === from),
    history: withMade(history.value, made, appId),
    /** Set once the person has been told that the request repeats an earlier one. */
    varySeed: warned === asked && isRepeat ? () => vary(form, models, form.model.model_key, root) : undefined,
    acts: actsOf({
      models,
      form,
      references,
      filling,
      take,
      vary: (key) => vary(form, models, key, root),
      again: (of) => create(made.find(({ task }) => task.generation_id === of.generation_id)?.request ?? requestOf(of)),
      ended: () => {
        void reloadOverview();
        void history.reload();
      },
    }),
  };
}

interface ActParts extends Pick<ResultActs, 'again' | 'ended'> {
  readonly models: readonly ConsoleModel[];
  readonly form: Form;
  readonly references: References;
  readonly filling: ReturnType<typeof useFilling>;
  readonly take: (files: readonly File[]) => void;
  readonly vary: (modelKey: string) => void;
}

/** What a result offers. */
function actsOf({ models, form, references, filling, take, vary: varySeed, again, ended }: ActParts): ResultActs {
  return {
    layoutOf: (of) => layoutOf(models, of),
    canVary: ({ model_key: key }) => seedField(models, key) !== undefined,
    vary: (of) => {
      filling.fill(setupOf(models, of));
      varySeed(of.model_key);
    },
    adopt: filling.isSame ? undefined : filling.adopt,
    canRefer: form.model.limits.max_reference_uploads > references.all.length,
    refer: async (output: Output) => {
      take([await fileOf(output)]);
      announce('The image is added to the references.');
    },
    again,
    ended,
  };
}

/** Sets another seed, and leads to the button that creates with it. */
function vary(form: Form, models: readonly ConsoleModel[], key: string, root: PlaygroundParts['root']): void {
  const field = seedField(models, key);
  if (field === undefined) return;
  const seed = randomSeed(field);
  form.setText(field.name, seed);
  say(`Seed ${seed} is set.`);
  root.current?.querySelector<HTMLElement>('.act-bar [type=submit]')?.focus();
}

/** What the form begins with: an example of a model, or the draft of this address with the model that it names. */
function useInitial(accountId: string, models: readonly ConsoleModel[], first: ConsoleModel): Setup {
  const [initial] = useState((): Setup => {
    const { from = '', model: named, example } = place.value.query;
    const model = models.find(({ model_key: key }) => key === named);
    const shown = model?.examples[Number(example)];
    if (model !== undefined && shown !== undefined) return setupOf(models, { ...shown, model_key: model.model_key });
    const draft = readDraft(accountId);
    const key = named ?? (draft?.from === from ? draft.setup.model_key : first.model_key);
    const empty = { prompt: '', negative_prompt: '', texts: {} };
    return { ...(draft?.from === from ? draft.setup : empty), model_key: key };
  });
  // The example is in the form now, where a person may change it.
  useEffect(() => changeQuery({ example: undefined }), []);
  return initial;
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

/** The generation that the address names. */
function useDetails(from: string | undefined) {
  return useData(from === undefined ? '' : `/generations/${encodeURIComponent(from)}`, { load: readDetails });
}

async function readDetails(path: string, signal?: AbortSignal): Promise<GenerationDetail | undefined> {
  if (path === '') return undefined;
  const details = await read<GenerationDetail>(path, signal);
  if (details.request !== null) return details;
  // Where the operator hides requests, people still see those of this page.
  const { input } = await read<{ readonly input: GenerationInput | null }>(`/playground${path}/input`, signal).catch(
    () => ({ input: null }),
  );
  if (input === null) return details;
  const { prompt, negative_prompt: negative, parameters } = input;
  // Their addresses are not given; an empty one stands for a file that is still stored.
  const references = input.references.map((one) => ({ ...one, media_type: '', byte_size: 0, url: '' }));
  const request = { prompt, ...(negative === null ? {} : { negative_prompt: negative }), parameters, references };
  return { ...details, request: { ...request, defaults: [] } };
}

interface Listed {
  readonly generations: readonly AccountGeneration[];
}

const SLOW_MS = 30_000;
const FAST_MS = 3_000;

/** The last generations of the playground, read again sooner while one has not ended. */
function useHistory(appId: string) {
  const [everyMs, setEvery] = useState(SLOW_MS);
  const history = useData<Listed>(`/generations?app_id=${appId}&limit=50`, { everyMs });
  const isWaiting = history.value?.generations.some(isOpen) ?? false;
  useEffect(() => setEvery(isWaiting ? FAST_MS : SLOW_MS), [isWaiting]);
  return history;
}

/** The list with those of this page that it does not have yet. */
function withMade(history: Listed | undefined, made: readonly Made[], appId: string) {
  const listed = history?.generations ?? [];
  const missing = made.filter(({ task }) => !listed.some((one) => one.generation_id === task.generation_id));
  const own = missing.map((one) => generationOf(one, appId));
  return [...own, ...listed];
}

/** What this page knows of a generation that it has created, until the server lists it. */
function generationOf({ task, request: { prompt = '' } }: Made, appId: string): AccountGeneration {
  const app = { id: appId, name: null };
  const kept = { outputs_removed_at: null, content_removed_at: null };
  return { ...task, app, creator: { kind: 'person' }, prompt, thumbnails: [], ...kept };
}

function hasFailed({ generation_id: id }: Task, history: Listed | undefined): boolean {
  const status = history?.generations.find((one) => one.generation_id === id)?.status;
  return status === 'failed' || status === 'cancelled';
}

interface FillingParts {
  readonly form: Form;
  readonly references: References;
  readonly models: readonly ConsoleModel[];
  readonly details: GenerationDetail | undefined;
  readonly from: string | undefined;
  readonly appId: string;
}

/** Fills the form with the request of the generation that is shown, unless the person is writing another one. */
function useFilling({ form, references, models, details, from, appId }: FillingParts) {
  /** The generation that the form has been filled for, and the setup as it was then. */
  const [draftOf] = useState(() => (form.setup.prompt === '' ? undefined : from));
  const filledFor = useRef(draftOf);
  const filled = useRef('');
  const current = keyOf(form.setup);
  const known = details?.generation_id === from ? details : undefined;
  const wanted =
    known === undefined || known.request === null
      ? undefined
      : setupOf(models, { ...known.request, model_key: known.model_key, defaults: known.request.defaults });
  const isSame = wanted !== undefined && keyOf(wanted) === current;
  const fill = (setup: Setup): void => {
    filled.current = keyOf(setup);
    form.fill(setup);
  };
  const adopt = (of: GenerationDetail): void => {
    if (of.request === null) return;
    fill(setupOf(models, { ...of.request, model_key: of.model_key }));
    const kept = of.request.references.filter(({ url }) => url !== undefined);
    if (of.app.id === appId) references.replace(kept);
    else void takeOver(kept, references);
  };
  useEffect(() => {
    if (known === undefined) return;
    if (isSame) filled.current = current;
    const isEdited = filled.current !== current && form.setup.prompt !== '';
    if (filledFor.current === from || isEdited) return;
    filledFor.current = from;
    adopt(known);
    // When another generation is shown, and not when the form changes.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [from, known?.generation_id]);
  const created = (id: string): void => {
    filledFor.current = id;
    filled.current = current;
  };
  return { fill, adopt, created, isSame };
}

/** An upload belongs to its App: files of another one are uploaded again. */
async function takeOver(earlier: readonly EarlierReference[], references: References): Promise<void> {
  for (const { upload_id: id, url, role } of earlier) {
    const file =
      url === undefined || url === '' ? undefined : await fileOf({ url, media_id: id }).catch(() => undefined);
    if (file !== undefined) references.add([file], role);
  }
}

interface CreatingParts {
  readonly appId: string;
  readonly root: PlaygroundParts['root'];
  readonly created: (made: Made) => void;
}

/** Creates, one at a time, and says why it was refused. */
function useCreating({ appId, root, created }: CreatingParts) {
  const creates = useRef(new Creates());
  const [asked, setAsked] = useState<Asked>();
  const [fault, setFault] = useState<CreateFault>();
  const { run } = useAction();
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
  const create = (request: GenerationRequest): Promise<boolean> =>
    run(async () => {
      setFault(undefined);
      setAsked({ ...request, parameters: request.parameters ?? {} });
      try {
        created({ task: await creates.current.create(appId, request), request });
      } catch (error) {
        const more = isUnknown(error)
          ? ' If the request was accepted, trying again finds it and creates nothing twice.'
          : '';
        setFault({
          sentence: sentenceOf(error) + more,
          pointer: pointerOf(error),
          code: codeOf(error),
          asked: JSON.stringify(request),
        });
      } finally {
        setAsked(undefined);
      }
    });
  return { asked, fault, setFault, create };
}

function withFiles(request: GenerationRequest, { limits }: ConsoleModel, { all }: References): GenerationRequest {
  const ids = limits.max_reference_uploads === 0 ? [] : all.flatMap(({ uploadId }) => uploadId ?? []);
  return ids.length === 0 ? request : { ...request, reference_upload_ids: ids };
}

/** The request of an earlier generation of this page. */
function requestOf({ model_key, operation, request }: GenerationDetail): GenerationRequest {
  const { prompt, negative_prompt: negative, parameters = {}, references = [] } = request ?? {};
  const ids = references.map(({ upload_id: id }) => id);
  return {
    model_key,
    operation,
    ...(prompt ? { prompt } : {}),
    ...(negative ? { negative_prompt: negative } : {}),
    parameters,
    ...(ids.length === 0 ? {} : { reference_upload_ids: ids }),
  };
}

function hasSeed({ parameters }: GenerationRequest): boolean {
  return Object.hasOwn(parameters ?? {}, 'seed');
}

function seedField(models: readonly ConsoleModel[], key: string) {
  const model = models.find(({ model_key: one }) => one === key);
  const fields = model === undefined ? undefined : parameterFields(model);
  return fields?.find(({ field }) => field.kind === 'number' && field.look === 'seed');
}

function layoutOf(models: readonly ConsoleModel[], { model_key: key, parameters }: Asked) {
  const model = models.find(({ model_key: one }) => one === key);
  const fields = model === undefined ? undefined : parameterFields(model);
  return { shape: shapeOf(fields, parameters), count: countOf(fields, parameters) };
}

/** Such as "4 images". */
export function outputsText({ model, fields, request }: Form): string {
  const count = countOf(fields, request.parameters ?? {});
  return count === 1 ? model.modality : `${count} ${model.modality}s`;
}

/** The request of the form with its files, as programs have them. */
export function codeRequest(form: Form, { all }: References): CodeRequest {
  const files = form.model.limits.max_reference_uploads === 0 ? [] : all;
  const references = files.map(({ name, file, role }) => ({
    role,
    filename: file === undefined ? undefined : name,
    media_type: file?.type,
  }));
  return { ...form.request, references };
}

/** What stands in the way of a create, before the server is asked. */
function whyNotYet(form: Form, { all }: References, asked: string): CreateFault | undefined {
  const { model, prompt, faults } = form;
  const fault = (sentence: string, pointer = ''): CreateFault => ({ sentence, pointer, code: '', asked });
  if (model.prompt_rule === 'required' && prompt.trim() === '') return fault('Write a prompt first.', '/prompt');
  const [pointer] = Object.keys(faults);
  if (pointer !== undefined) return fault(faults[pointer] ?? '', pointer);
  if (all.some(({ state }) => state === 'uploading'))
    return fault('A reference file is still uploading. Try again in a moment.');
  if (all.some(({ state }) => state === 'failed'))
    return fault('A reference file was not uploaded. Upload it again, or remove it.');
  return undefined;
}

/** Whether the sentence is shown at the field that it is about. */
export function isShownAtField({ pointer }: CreateFault): boolean {
  return pointer !== '' && pointer !== '/model_key' && pointer !== '/operation';
}

/** A required field that is empty is an error when somebody tries to create, and not while they fill the form in. */
export function faultsOf(own: Form['faults'], fault: CreateFault | undefined, { refused }: Estimated) {
  return (pointer: string): string | undefined => {
    if (own[pointer] !== undefined) return own[pointer];
    if (fault !== undefined && isAt(fault.pointer, pointer)) return fault.sentence;
    return refused?.code === 'FIELD_INVALID' && isAt(refused.pointer, pointer) ? refused.sentence : undefined;
  };
}

/** An error within the value of a parameter is shown at the parameter; one of all parameters, at no single one. */
function isAt(fault: string, field: string): boolean {
  return fault === field || (field.startsWith('/parameters/') && fault.startsWith(`${field}/`));
}
