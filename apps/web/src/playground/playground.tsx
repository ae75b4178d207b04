import { useRef, useState } from 'preact/hooks';
import type { GenerationRequest, Model, Task } from '../api-types.js';
import { Card, focusOn } from '../parts/card.js';
import { codeOf, RequestFailed, sentenceOf } from '../server.js';
import type { GenerationInput, Overview } from '../server-types.js';
import { CodeCard } from './code/code-card.js';
import { plainName } from './code/shown-request.js';
import { Creates } from './create-once.js';
import { EstimateLine } from './estimate-line.js';
import { RequestForm } from './request-form.js';
import { ResultCard } from './result-card.js';
import { useEstimate, type Estimated } from './use-estimate.js';
import { useForm } from './use-form.js';
import { useReferences, type Reference, type References } from './use-references.js';

interface PlaygroundProps {
  readonly appId: string;
  readonly models: readonly Model[];
  readonly first: Model;
  /** What an earlier generation was asked for. */
  readonly known: GenerationInput | undefined;
  readonly overview: Overview;
  readonly reload: () => Promise<void>;
}

interface Fault {
  readonly sentence: string;
  readonly pointer: string;
  /** The request that it is about: what was changed since may be valid. */
  readonly asked: string;
}

/** A form for a request, what came of it, and the same request as code. */
export function Playground({ appId, models, first, known, overview, reload }: PlaygroundProps) {
  const form = useForm(models, first, known);
  const references = useReferences(appId, known?.references);
  const creates = useRef(new Creates());
  const [isBusy, setBusy] = useState(false);
  const [created, setCreated] = useState<{ readonly task: Task; readonly request: GenerationRequest }>();
  const [fault, setFault] = useState<Fault>();
  const request = withFiles(form.request, form.model, references);
  const asked = JSON.stringify(request);
  const hasFaults = Object.keys(form.faults).length > 0;
  const estimated = useEstimate(appId, hasFaults ? undefined : request);

  const create = async (wanted: GenerationRequest): Promise<void> => {
    setBusy(true);
    setFault(undefined);
    try {
      const task = await creates.current.create(appId, wanted);
      setCreated({ task, request: wanted });
      focusOn('result');
      void reload();
    } catch (error) {
      const pointer = error instanceof RequestFailed ? (error.refusal.pointer ?? '') : '';
      setFault({ sentence: createFault(error), pointer, asked: JSON.stringify(wanted) });
    } finally {
      setBusy(false);
    }
  };
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const sentence = whyNotYet(hasFaults, references.all);
    if (sentence === undefined) void create(request);
    else setFault({ sentence, pointer: '', asked });
  };
  const faultAt = faultsOf(form.faults, fault?.asked === asked ? fault : undefined, estimated);
  return (
    <>
      <Card id="request" title="Request">
        <form onSubmit={submit} noValidate>
          <RequestForm models={models} form={form} references={references} faultAt={faultAt} />
          {fault === undefined || isShownAtField(fault, asked) ? null : (
            <p class="fault" role="alert">
              {fault.sentence}
            </p>
          )}
          <div class="submit-line">
            <button type="submit" aria-busy={isBusy} disabled={isBusy}>
              Create
            </button>
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
          ended={() => void reload()}
        />
      )}
      <CodeCard
        shown={{
          baseUrl: overview.base_url,
          request: form.request,
          references: shownFiles(references, form.model),
          isVideo: form.model.modality === 'video',
        }}
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

/** A create of unknown outcome is asked for again under its key: nothing is made twice. */
function createFault(error: unknown): string {
  const sentence = sentenceOf(error);
  const isUnknown = codeOf(error) === '' && error instanceof RequestFailed;
  return isUnknown ? `${sentence} If it was accepted, trying again finds it and creates nothing twice.` : sentence;
}

/** Whether the sentence stands at the field that it is about. */
function isShownAtField({ pointer, asked: about }: Fault, asked: string): boolean {
  return pointer !== '' && pointer !== '/model_key' && pointer !== '/operation' && about === asked;
}

/** A required field that is empty is said when somebody tries to create, and not while they fill the form in. */
function faultsOf(own: Readonly<Record<string, string>>, fault: Fault | undefined, estimated: Estimated) {
  return (pointer: string): string | undefined => {
    if (own[pointer] !== undefined) return own[pointer];
    if (fault !== undefined && isAt(fault.pointer, pointer)) return fault.sentence;
    const isSaid = estimated.state === 'refused' && estimated.code === 'FIELD_INVALID';
    return isSaid && isAt(estimated.pointer ?? '', pointer) ? estimated.sentence : undefined;
  };
}

/** A fault within the value of a parameter is shown at the parameter; one of all parameters, at no single one. */
function isAt(fault: string, field: string): boolean {
  return fault === field || (field.startsWith('/parameters/') && fault.startsWith(`${field}/`));
}
