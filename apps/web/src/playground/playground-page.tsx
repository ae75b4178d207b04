import { useModels } from '../models/use-models.js';
import { useEffect, useRef, useState } from 'preact/hooks';
import { announce } from '../parts/toasts.js';
import type { GenerationRequest, Model, Task } from '../api-types.js';
import { inApp, useApps } from '../apps/usable-apps.js';
import {
  CancelButton,
  costText,
  isOpen,
  OutputList,
  STATUS_TEXTS,
  TaskProgress,
  useFollowedTask,
} from '../generations/generation-detail.js';
import { Button, SubmitButton } from '../parts/buttons.js';
import { Card, Fault, Loaded, PlaceLink, type PageProps, Page } from '../parts/parts.js';
import { place, titleOf } from '../places.js';
import type { GenerationInput } from '../server-types.js';
import { reloadOverview } from '../session.js';
import { change, codeOf, pointerOf, Explained, randomKey } from '../server.js';
import { useAction, useData, focusOn } from '../use-data.js';
import { CodeCard, plainName } from './code/code-card.js';
import { type Estimated, EstimateLine, RequestForm, useEstimate, useForm } from './form/request-form.js';
import { type Reference, type References, useReferences } from './reference-list.js';

/** Makes pictures and videos in the App of this page. */
function PlaygroundSection({ overview }: PageProps) {
  const apps = useApps();
  const models = useModels();
  const again = place.value.query['again'];
  if (overview.account.is_suspended)
    return (
      <p class="attention bad" role="alert">
        The account is suspended: nothing can be made until the operator resumes it.
      </p>
    );
  return (
    <Loaded data={apps} what="Apps">
      {({ apps: [own] }) => (
        <Loaded data={models} what="models">
          {(all) => {
            const [first] = all;
            if (own === undefined || first === undefined) return <p class="panel empty">No model is on offer yet.</p>;
            const parts = { appId: own.id, models: all, first, overview };
            return again === undefined ? (
              <Playground key="" {...parts} known={undefined} />
            ) : (
              <Again key={again} id={again} {...parts} />
            );
          }}
        </Loaded>
      )}
    </Loaded>
  );
}

interface AgainProps extends PageProps {
  readonly id: string;
  readonly appId: string;
  readonly models: readonly Model[];
  readonly first: Model;
}

/** Starts with the input of an earlier generation. */
function Again({ id, ...parts }: AgainProps) {
  const data = useData<{ readonly input: GenerationInput | null }>(
    `/playground/generations/${encodeURIComponent(id)}/input`,
  );
  return (
    <>
      <Loaded data={data} what="what was asked for">
        {({ input }) => (
          <>
            {input === null ? <p class="attention">What it was asked for is not kept any more.</p> : null}
            <Playground {...parts} known={input ?? undefined} />
          </>
        )}
      </Loaded>
      {data.value === undefined && data.fault !== undefined ? <Playground {...parts} known={undefined} /> : null}
    </>
  );
}

/** Between tries of a create whose answer did not come, in milliseconds. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000];
/** Codes that do not tell whether it was created: a retry with the same key finds out. */
const UNKNOWN = new Set(['', 'SERVICE_UNAVAILABLE', 'INTERNAL_ERROR', 'IDEMPOTENCY_IN_PROGRESS', 'REQUEST_TIMEOUT']);

/**
 * Creates generations, each under its own key: a create whose response was lost is repeated under its key,
 * immediately and when the person tries again, until a response shows its outcome.
 */
export class Creates {
  private pending: { readonly asked: string; readonly key: string } | undefined;

  async create(appId: string, request: GenerationRequest): Promise<Task> {
    const asked = JSON.stringify([appId, request]);
    if (this.pending?.asked !== asked) this.pending = { asked, key: randomKey() };
    const { key } = this.pending;
    for (let tries = 0; ; tries += 1) {
      try {
        const task = await change<Task>(inApp(appId, '/generations'), request, { idempotencyKey: key });
        this.pending = undefined;
        return task;
      } catch (error) {
        if (!(error instanceof Explained) || !UNKNOWN.has(codeOf(error))) {
          this.pending = undefined;
          throw error;
        }
        const pause = PAUSES_MS[tries];
        if (pause === undefined) throw error;
        await new Promise((resolve) => {
          setTimeout(resolve, pause);
        });
      }
    }
  }
}

interface ResultCardProps {
  readonly appId: string;
  readonly created: Task;
  readonly currency: string;
  readonly again: () => void;
  /** After its end, when what was not used is given back. */
  readonly ended: () => void;
}

/** The state of the generation that was created last. */
function ResultCard({ appId, created, currency, again, ended }: ResultCardProps) {
  const followed = useFollowedTask(appId, created.generation_id, created);
  const { value: task = created, isCancelling, fault, reload, take } = followed;
  const { status } = task;
  useEffect(() => {
    if (isOpen({ status })) return;
    announce(
      `The generation has ${status === 'succeeded' ? 'succeeded' : `ended: ${STATUS_TEXTS[status].toLowerCase()}`}.`,
    );
    ended();
    // Once, when it ends.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [status]);
  return (
    <Card id="result" title={STATUS_TEXTS[status]} note={costText(task, currency)}>
      <Fault text={fault} />
      <TaskProgress {...followed} task={task} />
      {task.error === undefined ? null : <p class="attention bad">{task.error.message}</p>}
      <OutputList task={task} reload={reload} />
      <div class="row wrap">
        {isOpen(task) ? (
          <CancelButton
            path={inApp(appId, `/generations/${task.generation_id}`)}
            isCancelling={isCancelling}
            take={take}
          />
        ) : (
          <Button isSmall onClick={again}>
            Again with the same input
          </Button>
        )}
        <PlaceLink page="generations" id={task.generation_id} class="button-like">
          Details
        </PlaceLink>
      </div>
    </Card>
  );
}

interface PlaygroundProps extends Omit<AgainProps, 'id'> {
  /** The input of an earlier generation. */
  readonly known: GenerationInput | undefined;
}

interface CreateFault {
  readonly sentence: string;
  readonly pointer: string;
  /** The request that caused the fault; what has changed since then may be valid. */
  readonly asked: string;
}

/** A form for a request, what came of it, and the same request as code. */
export function Playground({ appId, models, first, known, overview }: PlaygroundProps) {
  const form = useForm(models, first, known);
  const references = useReferences(appId, known?.references);
  const creates = useRef(new Creates());
  const { isBusy, fault: sentence, error, setFault, run } = useAction();
  const [tried, setTried] = useState('');
  const [created, setCreated] = useState<{ readonly task: Task; readonly request: GenerationRequest }>();
  const request = withFiles(form.request, form.model, references);
  const asked = JSON.stringify(request);
  const hasFaults = Object.keys(form.faults).length > 0;
  const estimated = useEstimate(appId, hasFaults ? undefined : request);

  const create = (wanted: GenerationRequest): Promise<boolean> => {
    setTried(JSON.stringify(wanted));
    return run(async () => {
      const task = await creates.current.create(appId, wanted);
      setCreated({ task, request: wanted });
      focusOn('result');
      void reloadOverview();
    });
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const why = whyNotYet(hasFaults, references.all);
    if (why === undefined) void create(request);
    else setFault(why);
  };
  const fault: CreateFault | undefined =
    sentence === undefined
      ? undefined
      : { sentence: createFault(sentence, error), pointer: pointerOf(error), asked: tried };
  const faultAt = faultsOf(form.faults, fault?.asked === asked ? fault : undefined, estimated);
  return (
    <>
      <Card id="request" title="Request">
        <form onSubmit={submit} noValidate>
          <RequestForm models={models} form={form} references={references} faultAt={faultAt} />
          <Fault text={fault === undefined || isShownAtField(fault, asked) ? undefined : fault.sentence} />
          <div class="submit-line">
            <SubmitButton isBusy={isBusy}>Create</SubmitButton>
            <EstimateLine estimated={estimated} account={overview.account} />
          </div>
        </form>
      </Card>
      {created === undefined ? null : (
        <ResultCard
          key={created.task.generation_id}
          appId={appId}
          created={created.task}
          currency={overview.account.currency}
          again={() => void create(created.request)}
          ended={() => void reloadOverview()}
        />
      )}
      <CodeCard
        shown={{
          baseUrl: overview.base_url,
          request: form.request,
          references: shownFiles(references, form.model),
          isVideo: form.model.modality === 'video',
          roles: form.model.limits.reference_roles,
        }}
        hasOpenAi={overview.has_openai}
      />
    </>
  );
}

function withFiles(request: GenerationRequest, { limits }: Model, { all }: References): GenerationRequest {
  const ids = limits.max_reference_uploads === 0 ? [] : all.flatMap(({ uploadId }) => uploadId ?? []);
  return ids.length === 0 ? request : { ...request, reference_upload_ids: ids };
}

function shownFiles({ all }: References, { limits }: Model) {
  if (limits.max_reference_uploads === 0) return [];
  return all.map(({ name, file, role }, index) => ({
    filename: file === undefined ? `reference-${index + 1}.png` : plainName(name, index),
    mediaType: file?.type ?? 'image/png',
    role,
  }));
}

function whyNotYet(hasFaults: boolean, all: readonly Reference[]): string | undefined {
  if (all.some(({ state }) => state === 'uploading'))
    return 'A reference file is still on its way; try again in a moment.';
  if (all.some(({ state }) => state === 'failed'))
    return 'A reference file was not uploaded: try it again, or remove it.';
  return hasFaults ? 'A parameter cannot be sent as it is.' : undefined;
}

/** A create with an unknown outcome is repeated under its key, so nothing is made twice. */
function createFault(sentence: string, error: unknown): string {
  const isUnknown = codeOf(error) === '' && error instanceof Explained;
  return isUnknown ? `${sentence} If it was accepted, trying again finds it and creates nothing twice.` : sentence;
}

/** Whether the sentence is shown at the field that it is about. */
function isShownAtField({ pointer, asked: about }: CreateFault, asked: string): boolean {
  return pointer !== '' && pointer !== '/model_key' && pointer !== '/operation' && about === asked;
}

/** A required field that is empty is said when somebody tries to create, and not while they fill the form in. */
function faultsOf(own: Readonly<Record<string, string>>, fault: CreateFault | undefined, estimated: Estimated) {
  return (pointer: string): string | undefined => {
    if (own[pointer] !== undefined) return own[pointer];
    if (fault !== undefined && isAt(fault.pointer, pointer)) return fault.sentence;
    const isSaid = estimated.state === 'refused' && estimated.code === 'FIELD_INVALID';
    return isSaid && isAt(estimated.pointer, pointer) ? estimated.sentence : undefined;
  };
}

/** A fault within the value of a parameter is shown at the parameter; one of all parameters, at no single one. */
function isAt(fault: string, field: string): boolean {
  return fault === field || (field.startsWith('/parameters/') && fault.startsWith(`${field}/`));
}

export function PlaygroundPage({ overview }: PageProps) {
  return (
    <Page title={titleOf(place.value)}>
      <div class="stack">
        <PlaygroundSection overview={overview} />
      </div>
    </Page>
  );
}
