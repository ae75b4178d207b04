import { REFERENCE_ROLES, type ReferenceRole } from '../../../core/generation/generation.js';
import { escapePointerToken, type Json } from '../../../core/json.js';
import { isFreeText, isOfOperator } from '../shared/operator-fields.js';
import { type FieldRules, fieldRulesFault } from '../shared/request-fields.js';
import {
  CONDITION,
  isPlaceholder,
  type Leaf,
  leavesOf,
  type Placeholder,
  placeholderOf,
  placeholdersOf,
} from './body-template.js';
import { meaningFault } from './error-meaning.js';
import type { HttpJsonSettings, Route } from './http-json-settings.js';
import { keepsSlashes, pathFault, type PathName } from './path-template.js';
import { DEFAULT_ID_PATTERN } from './settings-schema.js';

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
    (result === undefined ? undefined : resultFault(result)) ??
    (cancel === undefined ? undefined : routeFault('/cancel', cancel)) ??
    (recover === undefined ? undefined : placed('/recover/path', pathFault(recover.path, ['token']))) ??
    (check === undefined ? undefined : placed('/check_path', pathFault(check, []))) ??
    idPatternFault('/submit/id_pattern', submit.id_pattern, '{+id}', [poll, result, cancel].some(keepsTaskId))
  );
}

function keepsTaskId(route: Route | undefined): boolean {
  return keepsSlashes(route?.path, 'id');
}

function routeFault(
  place: string,
  { path, address }: Route,
  needed: readonly PathName[] = ['id'],
  allowed: readonly PathName[] = needed,
): string | undefined {
  if ((path === undefined) === (address === undefined)) return `${place}: Either path or address must be given.`;
  return path === undefined ? undefined : placed(`${place}/path`, pathFault(path, needed, allowed));
}

function resultFault(result: NonNullable<HttpJsonSettings['result']>): string | undefined {
  const { id, id_pattern: pattern, path } = result;
  if (id === undefined) {
    const hasResultId = /\{\+?result_id\}/.test(path ?? '');
    return hasResultId
      ? '/result/id: A pointer to the id in the answer about the state is needed, as the path has {result_id}.'
      : routeFault('/result', result);
  }
  if (id.split('/').includes('*')) return '/result/id: It must lead to one id, without *.';
  if (path === undefined) return '/result/id: An id is for a path, and no path is given.';
  return (
    routeFault('/result', result, ['result_id'], ['id', 'result_id']) ??
    idPatternFault('/result/id_pattern', pattern, '{+result_id}', keepsSlashes(path, 'result_id'))
  );
}

/** An id that keeps its slashes is a part of the path: the settings must say what it is like. */
function idPatternFault(place: string, pattern: string, name: string, withSlashes: boolean): string | undefined {
  if (!isPattern(pattern)) return `${place}: This is no regular expression.`;
  return withSlashes && pattern === DEFAULT_ID_PATTERN
    ? `${place}: It must be given where a path has ${name}, and say where the slashes are.`
    : undefined;
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
  if (Object.hasOwn(submit.body, CONDITION)) return `/submit/body/${CONDITION}: The body itself is always sent.`;
  const reserved = reservedNameFault(submit.body, '/submit/body');
  if (reserved !== undefined) return reserved;
  for (const leaf of leaves) {
    const fault = leafFault(leaf, parameters);
    if (fault !== undefined) return `/submit/body${leaf.pointer}: ${fault}`;
  }
  return filesFault(placeholdersOf(submit.body)) ?? masksFault(placeholdersOf(submit.body));
}

/** Why a model whose tasks have a prompt cannot have the settings. */
export function promptFault({ submit }: HttpJsonSettings): string | undefined {
  const prompts = leavesOf(submit.body).filter(({ value, isCondition }) => value === '{prompt}' && !isCondition);
  if (prompts.length === 0) return '/submit/body: Nothing in it takes {prompt}.';
  return prompts.every(({ isConditional }) => isConditional)
    ? `/submit/body: {prompt} must also be where no ${CONDITION} leaves it out.`
    : undefined;
}

/** Names with a dollar are for these settings, and are not sent. */
function reservedNameFault(body: Json, at: string): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  for (const [name, value] of Object.entries(body)) {
    const place = `${at}/${escapePointerToken(name)}`;
    if (!Array.isArray(body) && name.startsWith('$')) {
      if (name !== CONDITION)
        return `${place}: A name that begins with $ is reserved; the one there is is ${CONDITION}.`;
      if (typeof value !== 'string' || !isPlaceholder(value))
        return `${place}: A placeholder is needed, such as "{start_frame.0}".`;
      if (Object.keys(body).length === 1) return `${place}: Beside ${CONDITION}, the object must have what is sent.`;
    }
    const below = reservedNameFault(value, place);
    if (below !== undefined) return below;
  }
  return undefined;
}

/** No file between others may be left out, and a type or a mask needs its file. */
function filesFault(placeholders: readonly Placeholder[]): string | undefined {
  for (const one of placeholders) {
    if ((one.kind !== 'media_type' && one.kind !== 'mask') || takesFile(placeholders, one)) continue;
    const file = `${one.role}.${one.index}`;
    return `/submit/body: {${file}.${one.kind === 'mask' ? `${one.form}_mask` : one.kind}} is taken, and {${file}} is not.`;
  }
  for (const one of placeholders) {
    if (one.kind !== 'reference' || one.index === 'all' || one.index === 0) continue;
    const { role, index: own } = one;
    if (!takesFile(placeholders, { role, index: own - 1 }))
      return `/submit/body: {${role}.${own}} is taken, and {${role}.${own - 1}} is not.`;
  }
  return undefined;
}

/** Files with masks come first, and such a file is sent either as it is or as its colours. */
function masksFault(placeholders: readonly Placeholder[]): string | undefined {
  const masks = placeholders.filter(takesMask);
  for (const { index } of masks) {
    if (index !== 0 && !masks.some((other) => other.index === Number(index) - 1))
      return `/submit/body: {reference_image.${index}} has a mask, and {reference_image.${Number(index) - 1}} has none; files with a mask come first.`;
    const kinds = new Set(masks.filter((other) => other.index === index).map(({ kind }) => kind));
    if (kinds.size > 1) return `/submit/body: {reference_image.${index}.with_alpha} is taken, and needs no other mask.`;
  }
  return undefined;
}

function takesMask(one: Placeholder): one is Extract<Placeholder, { readonly kind: 'reference' | 'mask' }> {
  return one.kind === 'mask' || (one.kind === 'reference' && one.hasAlpha === true);
}

function takesFile(
  placeholders: readonly Placeholder[],
  { role, index }: { readonly role: ReferenceRole; readonly index: number },
): boolean {
  return placeholders.some(
    (one) => one.kind === 'reference' && one.role === role && (one.index === 'all' || one.index === index),
  );
}

const PLACEHOLDER = new RegExp(`\\{(?:prompt|negative_prompt|token|parameters|${REFERENCE_ROLES.join('|')})[.}]`);

function leafFault({ names, value, isCondition }: Leaf, parameters: FieldRules): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (!isPlaceholder(value))
    return PLACEHOLDER.test(value)
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
  if (takesMask(placeholder) && placeholder.role !== 'reference_image')
    return `${shown(value)} is never there: only a reference_image has a mask.`;
  return isText && !isCondition && isOfOperator(...names)
    ? 'Text that users write cannot go to a member for places, addresses, files, keys or options.'
    : undefined;
}

function parametersFault({ submit, parameters }: HttpJsonSettings): string | undefined {
  const fault = fieldRulesFault(parameters, 'parameters');
  if (fault !== undefined) return `/parameters: ${fault}`;
  // One that a condition names decides what is sent.
  const used = new Set(leavesOf(submit.body).map(({ value }) => value));
  const idle = Object.keys(parameters).find((name) => !used.has(`{parameters.${name}}`));
  return idle === undefined ? undefined : `/parameters/${idle}: Nothing in submit.body takes {parameters.${idle}}.`;
}

function statesFault({ poll: { states, failed_if: failedIf } }: HttpJsonSettings): string | undefined {
  if ((states.succeeded ?? []).length === 0) return '/poll/states/succeeded: At least one state must be listed.';
  if ((states.failed ?? []).length === 0 && failedIf.length === 0)
    return '/poll/states/failed: At least one state must be listed, or failed_if be given.';
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
  const { code, codes, message, messages, statuses, success_codes: success, cancelled_codes: cancelled } = errors;
  const { seen_before: seen, refused, error_in_success: inSuccess } = submit;
  const hasCodes =
    Object.keys(codes).length > 0 || [...seen, ...refused].some((rule) => rule.code !== undefined) || inSuccess;
  if (code.length === 0 && (hasCodes || success.length > 0 || cancelled.length > 0))
    return '/errors/code: A pointer is needed where codes are listed.';
  if (inSuccess && Object.keys(codes).length === 0)
    return '/submit/error_in_success: The codes of refusals must be listed in errors.codes.';
  if (message.length === 0 && messages.length > 0)
    return '/errors/message: A pointer is needed where messages are listed.';
  const wide = Object.keys(codes).find((name) => /\*(?!$)/.test(name) || /^.{0,2}\*$/.test(name));
  if (wide !== undefined)
    return `/errors/codes/${escapePointerToken(wide)}: A * stands at the end, after at least three characters.`;
  const both = success.find((one) => Object.hasOwn(codes, String(one)));
  if (both !== undefined) return `/errors/success_codes: ${shown(both)} is also in errors.codes.`;
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
