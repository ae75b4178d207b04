import { textOf, timeText } from '../../format.js';
import { ShownOnce } from '../../parts/buttons.js';
import { TextField } from '../../parts/form.js';
import type { MenuItem } from '../../parts/overlays.js';
import { Badge, Empty } from '../../parts/parts.js';
import { askItem, type Column, Named, TableCard } from '../../parts/table.js';
import { UsedOn } from '../../parts/times.js';
import { change } from '../../server.js';
import { overview } from '../../session.js';
import { afterChange, usePages, useShownOnce } from '../../use-data.js';
import { counted, createButton, type Said, understood } from '../area-page.js';

interface Person {
  readonly person_id: string;
  readonly email: string;
  readonly disabled_at?: string;
  readonly last_sign_in_on?: string;
  readonly operator_since?: string;
  readonly has_password: boolean;
  readonly passkeys: number;
}

interface WithLink {
  readonly person: Person;
  readonly sign_in_link?: string;
  readonly sign_in_link_expires_at?: string;
}

/** Shows the sign-in link that a change has made, and reports the change. */
type Show = (made: WithLink, sentence: string) => Promise<void>;

/** The people who sign in for the account. A link is shown once, and is stored only in this component. */
export function PeopleCard({ path }: { path: string }) {
  const people = usePages<'people', Person>(`${path}/people`, 'people');
  const [made, setMade, forget] = useShownOnce<WithLink>('people');
  const said = afterChange(people.reload, 'people');
  const show: Show = (shown, sentence) => {
    setMade(shown);
    return said(sentence);
  };
  return (
    <TableCard
      id="people"
      title="People"
      note="All of them have equal rights in the account."
      actions={createButton('person', {
        text: 'You get a link to send to them, which signs them in once.',
        fields: <TextField label="E-mail address" type="email" name="email" required maxLength={254} />,
        act: (form) => change<WithLink>(`${path}/people`, { email: textOf(form, 'email') }),
        done: (shown) => show(shown, `${shown.person.email} can sign in. Copy the link now.`),
      })}
      pages={people}
      what="people"
      idOf={(person) => person.person_id}
      isOver={(person) => person.disabled_at !== undefined}
      columns={COLUMNS}
      menu={(person) => (isSelf(person) ? undefined : [person.email, ...actsOf(person, said, show)])}
      empty={<Empty icon="users-round" title="No people yet" text="Nobody signs in for this account." />}
    >
      {made?.sign_in_link === undefined ? null : (
        <div class="body">
          <ShownOnce secret={made.sign_in_link} onDone={forget}>
            <strong>{`Copy the sign-in link of ${made.person.email} now: it is shown only once.`}</strong>
            {` It signs in whoever has it, once, until ${timeText(made.sign_in_link_expires_at ?? '')}. Send it as you would send a password.`}
          </ShownOnce>
        </div>
      )}
    </TableCard>
  );
}

/** Operators cannot lock themselves out. */
function isSelf({ person_id: id }: Person): boolean {
  return id === overview.value?.person.id;
}

const COLUMNS: readonly Column<Person>[] = [
  [
    'E-mail',
    (person) => (
      <Named>
        {person.email} {person.operator_since === undefined ? null : <span class="tag">Operator</span>}{' '}
        {isSelf(person) ? <Badge look="plain">You</Badge> : null}
      </Named>
    ),
  ],
  [
    'State',
    (person) =>
      person.disabled_at !== undefined ? (
        <Badge look="fail">Disabled</Badge>
      ) : isInvited(person) ? (
        <Badge>Invited</Badge>
      ) : (
        <Badge look="ok">Active</Badge>
      ),
  ],
  ['Last sign-in', (person) => <UsedOn day={person.last_sign_in_on ?? null} />],
  [
    'Signs in with',
    ({ has_password: hasPassword, passkeys }) =>
      [hasPassword ? 'Password' : '', passkeys === 0 ? '' : counted(passkeys, 'passkey')].filter(Boolean).join(', ') ||
      'A link, or an outside identity',
  ],
];

/** Whether a person has never signed in, so that a new link takes nothing from them. */
function isInvited({ last_sign_in_on: signedInOn, passkeys, disabled_at: disabledAt }: Person): boolean {
  return signedInOn === undefined && passkeys === 0 && disabledAt === undefined;
}

function actsOf(person: Person, said: Said, show: Show): readonly MenuItem[] {
  const { person_id: id, email, operator_since: operatorSince, disabled_at: disabledAt } = person;
  const path = `/operator/people/${id}`;
  const newLink = askItem('New sign-in link…', 'link', {
    title: `Create a new sign-in link for ${email}?`,
    text: 'An earlier link of theirs stops working.',
    isHarmless: true,
    doIt: 'Create link',
    act: () => change<WithLink>(`${path}/sign-in-link`),
    done: (made) => show(made, `${email} has a new sign-in link. Copy it now.`),
  });
  const erase = askItem('Erase…', 'eraser', {
    title: `Erase ${email}?`,
    text: 'Their e-mail address, password, passkeys, sessions and connected programs are removed. What they made belongs to the account, and stays.',
    doIt: 'Erase person',
    fields: understood(),
    act: () => change(`${path}/erase`, { is_final: true }),
    done: () => said('The person is being erased, and can’t sign in any more.'),
  });
  return [
    ...(isInvited(person) ? [newLink] : []),
    disabledAt === undefined
      ? askItem('Disable…', 'ban', {
          title: `Disable ${email}?`,
          text: 'Within seconds their sessions end, and they and their connected programs are refused until you enable them again. API keys belong to the account, and keep working.',
          doIt: 'Disable person',
          act: () => change(`${path}/disable`),
          done: () => said(`${email} can’t sign in any more.`),
        })
      : askItem('Enable…', 'user-check', {
          title: `Enable ${email}?`,
          text: 'They can sign in again, and their connected programs work again.',
          isHarmless: true,
          doIt: 'Enable person',
          act: () => change(`${path}/enable`),
          done: () => said(`${email} can sign in again.`),
        }),
    askItem('Reset sign-in…', 'rotate-ccw', {
      title: `Reset the sign-in of ${email}?`,
      text: `Their password, passkeys and outside identities are removed, they are signed out everywhere, and the programs that they connected are disconnected.${operatorSince === undefined ? '' : ' They lose operator rights, too.'} You get a link that signs them in once.`,
      doIt: 'Reset sign-in',
      act: () => change<WithLink>(`${path}/reset`),
      done: (made) => show(made, `The sign-in of ${email} is reset.`),
    }),
    ...(operatorSince === undefined ? [erase] : []),
  ];
}
