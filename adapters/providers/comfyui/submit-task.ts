import type { ReferenceRole } from '../../../core/generation/generation.js';
import type { ProviderCall, ProviderReference, Submission, SubmitAnswer } from '../../../core/ports/provider.js';
import { HttpError } from '../../http/http-error.js';
import type { BodyFile } from '../../http/http-request.js';
import type { SubmissionAnswered, SubmissionRefusal } from '../../http/submission-outcome.js';
import { splitMasked, type Splitting, withAlphaChannel } from '../shared/masked-reference.js';
import { policyRefusalIn, withPolicy } from '../shared/policy-codes.js';
import { refusedBy, statusInSuccess } from '../shared/refused-in-success.js';
import { ParameterInvalid } from '../shared/request-fields.js';
import { inputRefusal, refusal } from '../shared/sentences.js';
import { TaskRefused } from '../shared/task-refused.js';
import { type REFERENCE_UNREAD, WholeReferences } from '../shared/whole-references.js';
import { chooseServer } from './choose-server.js';
import { type ComfyUiServer, ServerRefused } from './comfyui-server.js';
import { filledWorkflow, type UploadedNames } from './fill-workflow.js';
import type { ComfyUiInstance } from './instance.js';
import { AnswerUnreadable } from './job.js';
import { PlanInvalid } from './plan-invalid.js';
import type { MaskUse, Plan } from './plan.js';
import { planOf } from './read-workflow.js';
import { refusedGraph } from './refusals.js';
import { referenceOf } from './task-reference.js';
import { isObject, neededNodes } from './workflow.js';

type Needs = Pick<
  ComfyUiInstance,
  'servers' | 'workflowFolder' | 'maxQueue' | 'progress' | 'instance' | 'log' | 'memory'
>;

type Refusal = ReturnType<typeof refusal> | typeof REFERENCE_UNREAD;

interface Prepared {
  readonly server: ComfyUiServer;
  readonly plan: Plan;
  /** The graph as JSON text. */
  readonly graph: string;
}

/**
 * Fills in the workflow, uploads reference files and submits the graph once, to the server with the shortest queue.
 * Throws where it is unknown whether the task was taken.
 */
export async function submitTask(needs: Needs, submission: Submission, call: ProviderCall): Promise<SubmitAnswer> {
  const prepared = await prepare(needs, submission, call);
  return 'accepted' in prepared ? prepared : post(needs, prepared, submission, call);
}

/** Everything before the submission itself: if any of it fails, the task was not accepted. */
async function prepare(needs: Needs, given: Submission, call: ProviderCall): Promise<Prepared | Refusal> {
  try {
    const plan = planOf(given.settings, needs.workflowFolder);
    const submission = { ...given, references: inOrderOfMasks(plan, given.references) };
    const lacking = countFault(plan, submission) ?? maskFault(plan, submission);
    if (lacking !== undefined) return inputRefusal(lacking);
    // Before anything is uploaded: values that do not fit need no server.
    filledWorkflow(plan, submission, NOTHING_UPLOADED);
    const server = await chooseServer(needs, call);
    if ('accepted' in server) return server;
    const uploaded = await uploadAll({ ...needs, server, plan }, submission, call);
    if ('accepted' in uploaded) return uploaded;
    return { server, plan, graph: filledWorkflow(plan, submission, uploaded) };
  } catch (error) {
    if (error instanceof ParameterInvalid || error instanceof TaskRefused) return inputRefusal(error.message);
    if (!(error instanceof PlanInvalid)) throw error;
    const { instance: provider, log } = needs;
    const { modelKey: model } = given;
    log.warn('provider refused a task', { provider, because: 'settings', model, reason: error.message });
    return { ...refusal('settings wrong'), because: 'not-here' };
  }
}

const NOTHING_UPLOADED: UploadedNames = { reference_image: [], start_frame: [], end_frame: [] };

const SHOWN: Readonly<Record<ReferenceRole, string>> = {
  reference_image: 'reference image',
  start_frame: 'start frame',
  end_frame: 'end frame',
};

/** An input without a file would keep the one that the workflow was made with. */
function countFault({ references }: Plan, submission: Submission): string | undefined {
  for (const [role, slots] of Object.entries(references) as [ReferenceRole, readonly unknown[]][]) {
    const given = submission.references.filter((reference) => reference.role === role).length;
    if (given !== slots.length)
      return `The model takes exactly ${slots.length} ${SHOWN[role]}${slots.length === 1 ? '' : 's'}.`;
  }
  return undefined;
}

/**
 * Gives the masked files to the inputs whose mask the workflow uses, and the others to the remaining ones, each in the order of
 * the request: core counts masks and does not know which input takes one.
 */
function inOrderOfMasks({ masks }: Plan, references: Submission['references']): Submission['references'] {
  const images = references.filter(({ role }) => role === 'reference_image');
  const masked = images.filter(({ isMasked }) => isMasked === true);
  const opaque = images.filter(({ isMasked }) => isMasked !== true);
  const ordered = images.map((_, slot) => {
    const [first, second] = masks[slot] === undefined ? [opaque, masked] : [masked, opaque];
    return (first.shift() ?? second.shift())!;
  });
  return [...ordered, ...references.filter(({ role }) => role !== 'reference_image')];
}

/** A mask that the workflow does not use would have no effect. The settings may have changed since core counted masks. */
function maskFault({ masks }: Plan, { references }: Submission): string | undefined {
  const images = references.filter(({ role }) => role === 'reference_image');
  const index = images.findIndex(({ isMasked }, at) => isMasked === true && masks[at] === undefined);
  return index === -1
    ? undefined
    : `The model makes no areas of reference image ${index + 1} anew; use an opaque file.`;
}

/** Nothing is submitted yet, so a failure is certain: the task is taken later, or by another provider. */
async function uploadAll(
  { server, plan, memory, instance, log }: Pick<Prepared, 'server' | 'plan'> & Needs,
  submission: Submission,
  call: ProviderCall,
): Promise<UploadedNames | Refusal> {
  const whole = new WholeReferences(submission.references, { instance, log });
  const names: Record<ReferenceRole, string[]> = { reference_image: [], start_frame: [], end_frame: [] };
  try {
    for (const reference of whole.references) {
      const use = reference.isMasked === true ? plan.masks[names.reference_image.length] : undefined;
      const splitting = { memory, signal: call.signal };
      const upload = async () => uploadMasked(reference, use, splitting, (file) => server.upload(file, call));
      const name = await whole.sent(upload(), call.signal);
      if (typeof name !== 'string') return name;
      names[reference.role].push(name);
    }
    return names;
  } catch (error) {
    if (call.signal.aborted) throw error;
    if (error instanceof ServerRefused && error.status === 413) return refusal('input invalid');
    const isOfServer =
      error instanceof HttpError || error instanceof ServerRefused || error instanceof AnswerUnreadable;
    if (isOfServer) return refusal('unreachable');
    throw error;
  }
}

/** Uploads a file in the form in which its node finds the mask. */
async function uploadMasked(
  reference: ProviderReference,
  use: MaskUse | undefined,
  splitting: Splitting,
  upload: (file: BodyFile) => Promise<string>,
): Promise<string> {
  if (use === undefined) return upload(reference);
  if (use === 'alpha') {
    const { picture, close } = await withAlphaChannel(reference, splitting);
    return upload(picture).finally(() => void close());
  }
  const { mask, close } = await splitMasked(reference, 'white', splitting);
  return upload(mask).finally(() => void close());
}

async function post(
  { progress, instance: provider, log }: Needs,
  { server, plan, graph }: Prepared,
  submission: Submission,
  call: ProviderCall,
): Promise<SubmitAnswer> {
  const { token, modelKey } = submission;
  const reference = referenceOf({ token, server: server.address });
  const outputs = plan.outputs.map(({ node }) => node);
  const clientId = progress.follow(server, token, neededNodes(plan.workflow, outputs).length);
  const outcome = await server.submit({ graph, outputs, token, clientId }, withPolicy(submission), call);
  const refused = outcome.outcome === 'refused' ? outcome : await refusalInSuccess(outcome, submission);
  if (refused === undefined) return { accepted: true, reference };
  progress.forget(token);
  const { because, status = null, retryAfterMs } = refused;
  const { failure, parameter, faults } = refusedGraph(refused.body, plan);
  const { address } = server;
  log.warn('provider refused a task', { provider, because, status, model: modelKey, server: address, faults });
  const byPolicy = policyRefusalIn(refused.body, status ?? undefined, submission);
  if (byPolicy !== undefined) return refusal(byPolicy);
  if (because === 'unreachable') return refusal('unreachable');
  if (because === 'capacity') return refusal('no capacity', { retryAfterMs });
  if (status === 401 || status === 403) return refusal('account refused');
  if (parameter === undefined) return refusal(failure);
  return inputRefusal(`The provider does not take this value of ${parameter}.`);
}

/**
 * The refusal in an answer of success, as gateways write it; undefined where the server has taken the task. Throws where it is
 * unknown whether it has.
 */
async function refusalInSuccess(
  { answer }: SubmissionAnswered,
  submission: Submission,
): Promise<SubmissionRefusal | undefined> {
  const body = await answer.json();
  if (isObject(body) && body['prompt_id'] === submission.token) return undefined;
  const stated = statusInSuccess(body, answer.status, submission);
  if (stated !== undefined) return refusedBy(stated, body);
  throw answer.error('bad-answer', 'The server has taken the task under another id.');
}
