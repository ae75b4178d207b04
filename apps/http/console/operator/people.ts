import { ServiceError } from '../../../../core/errors.js';
import type { OperatorClient } from '../../../operator/operator.js';
import { bodySchema } from '../../host/request.js';
import { NOT_UNDONE } from './accounts.js';
import { change, changeWith, type OperatorCall, type OperatorOperation, read } from './operator-operation.js';

const ACCOUNT_PEOPLE = '/accounts/:account_id/people';
const NEW_PERSON = bodySchema({ email: { type: 'string', minLength: 1, maxLength: 254 } });

/** The people of an account. */
export const PEOPLE_OPERATIONS: readonly OperatorOperation[] = [
  read(ACCOUNT_PEOPLE, 'list the people of an account', ({ id, operator, paging }) =>
    operator.people.listPeople({ accountId: id, ...paging }),
  ),
  // Without a password; only this answer has the link.
  changeWith(ACCOUNT_PEOPLE, 'create a person', NEW_PERSON, async ({ id, parts, operator, body, act, json }) => {
    const created = await operator.people.createPerson({ accountId: id, email: body.email });
    act.note({ personId: created.person?.personId });
    return withLink(created, parts.publicUrl(), json);
  }),
  change('/people/:person_id/disable', 'disable a person', async (call) => {
    const disabled = await call.operator.people.disablePerson({ personId: otherPerson(call) });
    call.act.note({ accountId: disabled.person?.accountId });
    return disabled;
  }),
  change('/people/:person_id/enable', 'enable a person', async ({ id, operator, act }) => {
    const enabled = await operator.people.enablePerson({ personId: id });
    act.note({ accountId: enabled.person?.accountId });
    return enabled;
  }),
  changeWith('/people/:person_id/erase', 'erase a person', NOT_UNDONE, async ({ id, operator, act }) => {
    const requested = await operator.people.erasePerson({ personId: id });
    act.note({ accountId: requested.erasure?.accountId });
    return requested;
  }),
  // For a person who never signed in. Only the response contains the link, and an earlier one ends.
  change('/people/:person_id/sign-in-link', 'make a sign-in link', async ({ id, operator, act, parts, json }) => {
    const renewed = await operator.people.createSignInLink({ personId: id });
    act.note({ accountId: renewed.person?.accountId });
    return withLink(renewed, parts.publicUrl(), json);
  }),
  // Only the response contains the link. An operator loses that role.
  change('/people/:person_id/reset', 'reset a person', async (call) => {
    const reset = await call.operator.people.resetPerson({ personId: otherPerson(call) });
    call.act.note({ accountId: reset.person?.accountId });
    return withLink(reset, call.parts.publicUrl(), call.json);
  }),
];

/**
 * The person in the path. Throws CONFLICT for the operator, so that operators cannot lock themselves out by a wrong
 * click.
 */
function otherPerson({ id, signedIn }: OperatorCall): string {
  if (id.toLowerCase() === signedIn.person.personId)
    throw new ServiceError('CONFLICT', 'This is you; another operator, or the command line, can do it.');
  return id;
}

type WithSignInLink = Awaited<ReturnType<OperatorClient['people']['resetPerson']>>;

/** A person, with the link that signs them in once, if they have one. */
function withLink(
  { person, signInLink }: Pick<WithSignInLink, 'person' | 'signInLink'>,
  publicUrl: string,
  { messageJson }: OperatorCall['json'],
): object {
  if (signInLink === undefined) return { person: messageJson(person) };
  return {
    person: messageJson(person),
    sign_in_link: publicUrl + signInLink.path,
    sign_in_link_expires_at: messageJson(signInLink)['expires_at'],
  };
}
