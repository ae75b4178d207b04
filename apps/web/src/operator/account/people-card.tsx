import { useState } from 'preact/hooks';
import { Ban, Eraser, Link, Plus, RotateCcw, UserCheck, UsersRound } from 'lucide-preact';
import { textOf, timeText } from '../../format.js';
import { Button, MoreButton, ShownOnce } from '../../parts/buttons.js';
import { Field } from '../../parts/form.js';
import type { MenuItem } from '../../parts/overlays.js';
import { Badge, Card, Empty, Loaded } from '../../parts/parts.js';
import { UsedOn } from '../../parts/times.js';
import { change } from '../../server.js';
import { afterChange, usePages, useShownOnce } from '../../use-data.js';
import { type Act, ActDialog } from '../acts.js';
import { counted, type Person, type WithLink } from '../server-types.js';
import { RowMenu, Table } from '../../parts/old-table.js';
import { erasePersonAct } from './erasures.js';

/** Shows the sign-in link that a change has made. */
type Show = (made: WithLink) => void;

/** The people who sign in for the account. A link is shown once, and is stored only in this component. */
export function PeopleCard({ path, self }: { readonly path: string; readonly self: string }) {
  const people = usePages<'people', Person>(`${path}/people`, 'people');
  const [made, setMade, forget] = useShownOnce<WithLink>('people');
  const [asked, setAsked] = useState<Act>();
  const ask = (act: Act): void => {
    setMade(undefined);
    setAsked(act);
  };
  return (
    <Card
      id="people"
      title="People"
      note="All of them have equal rights in the account."
      isFlush
      actions={
        <Button isSmall icon={Plus} onClick={() => ask(createAct(path, setMade))}>
          Create person…
        </Button>
      }
    >
      {made?.sign_in_link === undefined ? null : (
        <div class="body">
          <ShownOnce secret={made.sign_in_link} onDone={forget}>
            <strong>{`Copy the sign-in link of ${made.person.email} now: it is shown only once.`}</strong>
            {` It signs in whoever has it, once, until ${timeText(made.sign_in_link_expires_at ?? '')}. Send it as you would send a password.`}
          </ShownOnce>
        </div>
      )}
      <Loaded data={people} what="people">
        {() => (
          <>
            {people.items.length === 0 ? (
              <Empty icon={UsersRound} title="No people yet" text="Nobody signs in for this account." />
            ) : (
              <Table
                labelledBy="people"
                columns={['E-mail', 'State', 'Last sign-in', 'Signs in with']}
                hasActs
                items={people.items}
              >
                {(person) => (
                  <PersonRow
                    key={person.person_id}
                    person={person}
                    acts={person.person_id === self ? undefined : actsOf(person, ask, setMade)}
                  />
                )}
              </Table>
            )}
            <MoreButton pages={people} what="people" />
          </>
        )}
      </Loaded>
      <ActDialog act={asked} close={() => setAsked(undefined)} done={afterChange(people.reload, 'people')} />
    </Card>
  );
}

interface PersonRowProps {
  readonly person: Person;
  /** Undefined for the operator, who cannot lock themselves out. */
  readonly acts: readonly MenuItem[] | undefined;
}

function PersonRow({ person, acts }: PersonRowProps) {
  const isDisabled = person.disabled_at !== undefined;
  return (
    <tr class={isDisabled ? 'over' : undefined}>
      <th scope="row">
        <span class="named">
          {person.email}
          {person.operator_since === undefined ? null : (
            <>
              {' '}
              <span class="tag">Operator</span>
            </>
          )}
        </span>
      </th>
      <td data-name="State">
        {isDisabled ? (
          <Badge look="fail">Disabled</Badge>
        ) : isInvited(person) ? (
          <Badge>Invited</Badge>
        ) : (
          <Badge look="ok">Active</Badge>
        )}
      </td>
      <td data-name="Last sign-in">
        <UsedOn day={person.last_sign_in_on ?? null} />
      </td>
      <td data-name="Signs in with">{methodsText(person)}</td>
      {acts === undefined ? (
        <td class="row-menu small muted nowrap">This is you</td>
      ) : (
        <RowMenu of={person.email} items={acts} />
      )}
    </tr>
  );
}

/** Whether a person has never signed in, so that a new link takes nothing from them. */
function isInvited({ last_sign_in_on: signedInOn, passkeys, disabled_at: disabledAt }: Person): boolean {
  return signedInOn === undefined && passkeys === 0 && disabledAt === undefined;
}

function methodsText({ has_password: hasPassword, passkeys }: Person): string {
  const methods = [...(hasPassword ? ['Password'] : []), ...(passkeys === 0 ? [] : [counted(passkeys, 'passkey')])];
  return methods.length === 0 ? 'A link, or an outside identity' : methods.join(', ');
}

function actsOf(person: Person, ask: (act: Act) => void, show: Show): readonly MenuItem[] {
  const isDisabled = person.disabled_at !== undefined;
  return [
    ...(isInvited(person) ? [{ text: 'New sign-in link…', icon: Link, act: () => ask(newLinkAct(person, show)) }] : []),
    isDisabled
      ? { text: 'Enable…', icon: UserCheck, act: () => ask(enableAct(person)) }
      : { text: 'Disable…', icon: Ban, act: () => ask(disableAct(person)), isDangerous: true },
    { text: 'Reset sign-in…', icon: RotateCcw, act: () => ask(resetAct(person, show)), isDangerous: true },
    ...(person.operator_since === undefined
      ? [{ text: 'Erase…', icon: Eraser, act: () => ask(erasePersonAct(person)), isDangerous: true }]
      : []),
  ];
}

function createAct(path: string, show: Show): Act {
  return {
    question: 'Create person',
    consequence: 'You get a link to send to them, which signs them in once.',
    isHarmless: true,
    doIt: 'Create person',
    busyText: 'Creating…',
    children: (
      <Field label="E-mail address">
        {(control) => <input {...control} class="input" type="email" name="email" required maxLength={254} />}
      </Field>
    ),
    action: async (form) => {
      const made = await change<WithLink>(`${path}/people`, { email: textOf(form, 'email') });
      show(made);
      return `${made.person.email} can sign in. Copy the link now.`;
    },
  };
}

function newLinkAct({ person_id: id, email }: Person, show: Show): Act {
  return {
    question: `Create a new sign-in link for ${email}?`,
    consequence: 'An earlier link of theirs stops working.',
    isHarmless: true,
    doIt: 'Create link',
    busyText: 'Creating…',
    action: async () => {
      show(await change<WithLink>(`/operator/people/${id}/sign-in-link`));
      return `${email} has a new sign-in link. Copy it now.`;
    },
  };
}

function resetAct({ person_id: id, email, operator_since: operatorSince }: Person, show: Show): Act {
  const operator = operatorSince === undefined ? '' : ' They lose operator rights, too.';
  return {
    question: `Reset the sign-in of ${email}?`,
    consequence: `Their password, passkeys and outside identities are removed, they are signed out everywhere, and the programs that they connected are disconnected.${operator} You get a link that signs them in once.`,
    doIt: 'Reset sign-in',
    busyText: 'Resetting…',
    action: async () => {
      show(await change<WithLink>(`/operator/people/${id}/reset`));
      return `The sign-in of ${email} is reset.`;
    },
  };
}

function disableAct({ person_id: id, email }: Person): Act {
  return {
    question: `Disable ${email}?`,
    consequence:
      'Within seconds their sessions end, and they and their connected programs are refused until you enable them again. API keys belong to the account, and keep working.',
    doIt: 'Disable person',
    busyText: 'Disabling…',
    action: async () => {
      await change(`/operator/people/${id}/disable`);
      return `${email} can’t sign in any more.`;
    },
  };
}

function enableAct({ person_id: id, email }: Person): Act {
  return {
    question: `Enable ${email}?`,
    consequence: 'They can sign in again, and their connected programs work again.',
    isHarmless: true,
    doIt: 'Enable person',
    busyText: 'Enabling…',
    action: async () => {
      await change(`/operator/people/${id}/enable`);
      return `${email} can sign in again.`;
    },
  };
}
