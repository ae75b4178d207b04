import type { Json } from '../../../core/json.js';
import { isFreeText, isOfOperator } from '../shared/operator-fields.js';
import { fieldRulesFault, type FieldRules } from '../shared/request-fields.js';
import {
  isPlaceholder,
  leavesOf,
  placeholderOf,
  placeholdersOf,
  type Leaf,
  type Placeholder,
} from './body-template.js';
import { meaningFault } from './error-meaning.js';
import type { HttpJsonSettings, Route } from './http-json-settings.js';
import { pathFault } from './path-template.js';

/** Headers that the connection, the body or the instance decide. */
const OWN_HEADERS: readonly string[] = [
  'host content-length content-type transfer-encoding connection keep-alive upgrade expect te trailer',
  'accept-encoding authorization proxy-authorization cookie',
].flatMap((names) => names.split(' '));

/** The first thing in settings, whose form is right, that cannot work: one sentence after the place it is about. */
export function mappingFault(settings: HttpJsonSettings): string | undefined {
  return (
    headersFault(settings) ??
    pathsFault(settings) ??
    bodyFault(settings) ??
    parametersFault(settings) ??
    statesFault(settings) ??
    tokenFault(settings) ??
    recoverFault(settings) ??
    errorsFault(settings) ??
    costFault(settings)
  );
}

function headersFault({ headers, submit }: HttpJsonSettings): string | undefined {
  for (const [name, value] of Object.entries(headers)) {
    if (OWN_HEADERS.includes(name.toLowerCase())) return `/headers/${name}: This header is not for the settings.`;
    if (/[{}]/.test(value)) return `/headers/${name}: A header is a constant, without braces.`;
  }
  const { idempotency_header: idempotency } = submit;
  if (idempotency === undefined) return undefined;
  const isTaken = [...OWN_HEADERS, ...Object.keys(headers).map((name) => name.toLowerCase())].includes(
    idempotency.toLowerCase(),
  );
  return isTaken ? '/submit/idempotency_header: This header has another use.' : undefined;
}

function pathsFault({
  submit,
  poll,
  result,
  cancel,
  recover,
  check_path: check,
}: HttpJsonSettings): string | undefined {
  return (
    placed('/submit/path', pathFault(submit.path, [], ['token'])) ??
    routeFault('/poll', poll) ??
    (result === undefined ? undefined : routeFault('/result', result)) ??
    (cancel === undefined ? undefined : routeFault('/cancel', cancel)) ??
    (recover === undefined ? undefined : placed('/recover/path', pathFault(recover.path, ['token']))) ??
    (check === undefined ? undefined : placed('/check_path', pathFault(check, []))) ??
    (isPattern(submit.id_pattern) ? undefined : '/submit/id_pattern: This is no regular expression.')
  );
}

function routeFault(place: string, { path, address }: Route): string | undefined {
  if ((path === undefined) === (address === undefined)) return `${place}: Either path or address must be given.`;
  return path === undefined ? undefined : placed(`${place}/path`, pathFault(path, ['id']));
}

function placed(place: string, fault: string | undefined): string | undefined {
  return fault === undefined ? undefined : `${place}: The path ${fault}.`;
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(`^(?:${text})$`, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

function bodyFault({ submit, parameters }: HttpJsonSettings): string | undefined {
  const leaves = leavesOf(submit.body);
  for (const leaf of leaves) {
    const fault = leafFault(leaf, parameters);
    if (fault !== undefined) return `/submit/body${leaf.pointer}: ${fault}`;
  }
  const hasPrompt = leaves.some(({ value }) => value === '{prompt}');
  return hasPrompt ? filesFault(placeholdersOf(submit.body)) : '/submit/body: Nothing in it takes {prompt}.';
}

/** No file between others may be left out. */
function filesFault(placeholders: readonly Placeholder[]): string | undefined {
  for (const one of placeholders) {
    if (one.kind !== 'reference' || one.index === 'all' || one.index === 0) continue;
    const { role, index: own } = one;
    const before = placeholders.some(
      (other) =>
        other.kind === 'reference' && other.role === role && (other.index === 'all' || other.index === own - 1),
    );
    if (!before) return `/submit/body: {${role}.${own}} is taken, and {${role}.${own - 1}} is not.`;
  }
  return undefined;
}

function leafFault({ names, value }: Leaf, parameters: FieldRules): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (!isPlaceholder(value))
    return /\{(?:prompt|negative_prompt|token|parameters|reference_image|start_frame|end_frame)[.}]/.test(value)
      ? 'A placeholder is the whole text, and nothing is put together with it.'
      : undefined;
  const placeholder = placeholderOf(value);
  if (placeholder === undefined) return `${shown(value)} stands for nothing that is known.`;
  if (placeholder.kind === 'parameter' && !Object.hasOwn(parameters, placeholder.name))
    return `${shown(value)} has no rule in parameters.`;
  const isText =
    placeholder.kind === 'prompt' ||
    placeholder.kind === 'negative_prompt' ||
    (placeholder.kind === 'parameter' && isFreeText(parameters[placeholder.name]));
  return isText && isOfOperator(...names)
    ? 'Text that users write cannot go to a member for places, addresses, files, keys or options.'
    : undefined;
}

function parametersFault({ submit, parameters }: HttpJsonSettings): string | undefined {
  const fault = fieldRulesFault(parameters, 'parameters');
  if (fault !== undefined) return `/parameters: ${fault}`;
  const used = new Set(placeholdersOf(submit.body).map((one) => (one.kind === 'parameter' ? one.name : '')));
  const idle = Object.keys(parameters).find((name) => !used.has(name));
  return idle === undefined ? undefined : `/parameters/${idle}: Nothing in submit.body takes {parameters.${idle}}.`;
}

function statesFault({ poll: { states } }: HttpJsonSettings): string | undefined {
  for (const needed of ['succeeded', 'failed'] as const)
    if ((states[needed] ?? []).length === 0) return `/poll/states/${needed}: At least one state must be listed.`;
  const all = Object.entries(states).flatMap(([state, values]) =>
    values.map((value) => [state, String(value)] as const),
  );
  const twice = all.find(([, value], index) => all.findIndex(([, other]) => other === value) !== index);
  return twice === undefined
    ? undefined
    : `/poll/states/${twice[0]}: ${shown(twice[1])} is listed more than once in states.`;
}

function tokenFault({ submit, recover }: HttpJsonSettings): string | undefined {
  const sendsToken =
    submit.idempotency_header !== undefined ||
    submit.path.includes('{token}') ||
    placeholdersOf(submit.body).some(({ kind }) => kind === 'token');
  if (sendsToken) return undefined;
  if (submit.takes_token_once) return '/submit/takes_token_once: The submission does not have the token.';
  return recover === undefined ? undefined : '/recover: The submission does not have the token to look for.';
}

function recoverFault({ poll, cancel, recover }: HttpJsonSettings): string | undefined {
  if (recover === undefined) return undefined;
  if (poll.address !== undefined || cancel?.address !== undefined)
    return '/recover: poll and cancel need paths, as a task that is found has no addresses.';
  if (recover.token === undefined && (recover.path.includes('?') || recover.found !== undefined))
    return '/recover/token: A pointer to the token is needed, as a server may answer with tasks that were not asked for.';
  const { found, missing_status: missing } = recover;
  return found === undefined && missing.length === 0
    ? '/recover: Either found or missing_status must say how a task that is not there is answered.'
    : undefined;
}

function errorsFault({ submit, errors }: HttpJsonSettings): string | undefined {
  const { code, codes, message, messages, statuses, cancelled_codes: cancelled } = errors;
  const { seen_before: seen, refused, error_in_success: inSuccess } = submit;
  const hasCodes =
    Object.keys(codes).length > 0 || [...seen, ...refused].some((rule) => rule.code !== undefined) || inSuccess;
  if (code.length === 0 && (hasCodes || cancelled.length > 0))
    return '/errors/code: A pointer is needed where codes are listed.';
  if (inSuccess && Object.keys(codes).length === 0)
    return '/submit/error_in_success: The codes of refusals must be listed in errors.codes.';
  if (message.length === 0 && messages.length > 0)
    return '/errors/message: A pointer is needed where messages are listed.';
  for (const [place, meanings] of Object.entries({ codes, statuses, messages }))
    for (const [name, meaning] of Object.entries(meanings)) {
      const fault = meaningFault(meaning);
      if (fault !== undefined) return `/errors/${place}/${name}: ${fault}`;
    }
  return undefined;
}

function costFault({ cost }: HttpJsonSettings): string | undefined {
  return (cost.money === undefined) === (cost.currency === undefined)
    ? undefined
    : '/cost: money and currency are given together.';
}

function shown(value: Json): string {
  return JSON.stringify(value);
}
