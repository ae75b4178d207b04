import { ServiceError } from '../../../core/errors.js';
import type { Person, ResetPersonResponse } from '../../operator/operator.js';
import { readSecret } from '../client/connection.js';
import { type CliCommand, EXAMPLE_ID, listCommand, operatorCommand } from '../command.js';
import type { CliIo } from '../io.js';
import { configOf, type Operator, type OperatorOptions, present, withOperator } from '../operator/with-operator.js';
import { addErasePerson } from './erasure.js';
import { counted, facts, isoDate, isoTime, show, type Shown } from '../terminal.js';

type CreateOptions = OperatorOptions & { readonly passwordStdin?: boolean };

/** `darkroom people`: who signs in to the account page. */
export function addPeople(program: CliCommand): void {
  const { io } = program;
  const people = program.command('people').description('people who sign in to the account page');
  operatorCommand(people, 'create <account_id> <email>')
    .description('create a person, and show a link that signs them in once')
    .option('--password-stdin', 'read a password from stdin instead; no link is made')
    .examples([`darkroom people create ${EXAMPLE_ID} ada@example.com`])
    .action((accountId: string, email: string, options: CreateOptions) => create(io, { accountId, email }, options));
  listCommand(people, 'list <account_id>')
    .description("list an account's people, with the day of their last sign-in")
    .examples([`darkroom people list ${EXAMPLE_ID}`])
    .operates(async ({ people: service, paging, listed }, accountId: string) => {
      const page = await service.listPeople({ accountId, ...paging });
      const rows = page.people.map((person) => [
        person.personId,
        person.email,
        stateText(person),
        person.createTime,
        isoDate(person.lastSignInTime),
        signInText(person),
      ]);
      return listed(page, ['person', 'email', 'state', 'created', 'last sign-in', 'signs in with'], rows);
    });
  const act = (
    verb: string,
    about: string,
    work: (operator: Operator, personId: string, options: OperatorOptions) => Promise<Shown>,
  ) =>
    operatorCommand(people, `${verb} <person_id>`)
      .description(about)
      .examples([`darkroom people ${verb} ${EXAMPLE_ID}`])
      .operates(work);
  act(
    'disable',
    'keep a person from signing in, and end their sessions and connections within 5 seconds',
    async (on, personId) => {
      const { person } = await on.people.disablePerson({ personId });
      return on.shown(person, ({ email }) => `${email} may not sign in any more.`);
    },
  );
  act('enable', 'let a disabled person sign in again', async (on, personId) => {
    const { person } = await on.people.enablePerson({ personId });
    return on.shown(person, ({ email }) => `${email} may sign in.`);
  });
  act(
    'reset',
    'take password, passkeys, outside identities and the rights of an operator away, end all sessions and connected programs, and show a link that signs the person in once',
    async (on, personId, options) => shownWithLink(io, await on.people.resetPerson({ personId }), on, options),
  );
  act(
    'link',
    'show a new link for a person who never signed in, in place of an earlier one',
    async (on, personId, options) => shownWithLink(io, await on.people.createSignInLink({ personId }), on, options),
  );
  act(
    'promote',
    "make a person with a passkey an operator, who may use the operator's area in a browser",
    async (on, personId) => {
      const { person } = await on.people.promotePerson({ personId });
      return on.shown(person, (one) => `${one.email} is an operator, and signs in as one with ${passkeysText(one)}.`);
    },
  );
  act('demote', 'make an operator a person like any other, at once', async (on, personId) => {
    const { person } = await on.people.demotePerson({ personId });
    return on.shown(person, ({ email }) => `${email} is no operator.`);
  });
  addErasePerson(people);
}

async function create(
  io: CliIo,
  person: { readonly accountId: string; readonly email: string },
  options: CreateOptions,
): Promise<void> {
  const password = options.passwordStdin ? await readSecret(io, `Password for ${person.email}: `) : undefined;
  await withOperator(io, options, async (operator) => {
    // In the message, an empty password means none.
    if (password === '') throw new ServiceError('FIELD_INVALID', 'A password must have 12 to 256 characters.');
    const created = await operator.people.createPerson({ ...person, password: password ?? '' });
    show(io, await shownWithLink(io, created, operator, options), options);
  });
}

async function shownWithLink(
  io: CliIo,
  { person: sent, signInLink }: Pick<ResetPersonResponse, 'person' | 'signInLink'>,
  { json }: Operator,
  options: OperatorOptions,
): Promise<Shown> {
  const { personId, email } = present(sent);
  if (signInLink === undefined) return { json: json(sent), text: facts({ person: personId, email }) };
  const publicUrl = await publicUrlOf(io, options);
  const link = `${publicUrl ?? ''}${signInLink.path}`;
  const until = isoTime(present(signInLink.expireTime));
  return {
    json: { ...json(sent), sign_in_link: link, sign_in_link_expires_at: until },
    text: facts({ 'person': personId, email, 'sign-in link': link, until }),
    notes: [
      'The link signs in once whoever has it; it is kept nowhere else.',
      ...(publicUrl === undefined ? ['It is below the public address of the service.'] : []),
    ],
  };
}

/** The public address of the server on these stores, or the configured one; a server elsewhere does not say its own. */
async function publicUrlOf(io: CliIo, options: OperatorOptions): Promise<string | undefined> {
  if (options.grpc !== undefined) return undefined;
  const [{ configuredUrl }, { servedUrl }, { browserUrl }] = await Promise.all([
    import('../../wiring/open-program.js'),
    import('../../service/served-url-file.js'),
    import('../../config/network-address.js'),
  ]);
  const config = await configOf(io, options);
  return browserUrl((await servedUrl(config)) ?? configuredUrl(config));
}

function stateText({ disableTime, promoteTime }: Person): string {
  return `${disableTime === undefined ? 'active' : 'disabled'}${promoteTime === undefined ? '' : ', operator'}`;
}

function signInText(person: Person): string {
  const passkeys = person.passkeys === 0 ? [] : [passkeysText(person)];
  return [...(person.hasPassword ? ['password'] : []), ...passkeys].join(', ');
}

function passkeysText({ passkeys }: Person): string {
  return counted(passkeys, 'passkey');
}
