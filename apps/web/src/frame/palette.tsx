import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { promptOf } from '../generations/generation-texts.js';
import { useModels } from '../models/use-models.js';
import { AskDialog } from '../parts/ask-dialog.js';
import { Icon, type IconName } from '../parts/icon.js';
import { Button, copyText } from '../parts/buttons.js';
import { Dialog } from '../parts/overlays.js';
import { announce, say } from '../parts/toasts.js';
import { goTo, hrefOf, type PageName, PAGES } from '../places.js';
import type { AccountGeneration } from '../server-types.js';
import { overview, signOut } from '../session.js';
import { useData } from '../use-data.js';
import { iconOf } from './frame.js';
import { handedPrompt, isHelpOpen, isPaletteOpen, ShortcutList, SHORTCUTS, SINGLE_KEYS } from './shortcuts.js';
import { type Theme, theme, THEMES } from './preferences.js';

/** What can be chosen in the palette. */
interface Entry {
  readonly text: string;
  /** At the right, such as the status of a generation. */
  readonly note?: string;
  /** What people may type besides its text. */
  readonly words?: string;
  readonly icon: IconName;
  /** The address of a picture to show instead of the icon. */
  readonly picture?: string | undefined;
  readonly run: () => void;
}

interface Group {
  readonly title: string;
  readonly entries: readonly Entry[];
}

/** The dialogs of every page: the command palette, the list of shortcuts, and questions. */
export function Opened() {
  const close = (): void => {
    isPaletteOpen.value = false;
  };
  const closeHelp = (): void => {
    isHelpOpen.value = false;
  };
  return (
    <>
      <Dialog isOpen={isPaletteOpen.value} close={close} label="Search or jump to" class="dialog palette">
        <Finder close={close} />
      </Dialog>
      <Dialog isOpen={isHelpOpen.value} close={closeHelp} labelledBy="shortcuts-title" class="dialog wide">
        <div class="stack">
          <h2 id="shortcuts-title" tabIndex={-1}>
            Keyboard shortcuts
          </h2>
          <ShortcutList shortcuts={[...SHORTCUTS, ...SINGLE_KEYS]} />
          <footer>
            <Button onClick={closeHelp}>Close</Button>
          </footer>
        </div>
      </Dialog>
      <AskDialog />
    </>
  );
}

/** A combobox with a list, by the ARIA pattern: the focus stays in the field, arrows move the selection. */
function Finder({ close }: { readonly close: () => void }) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const groups = useGroups(text.trim());
  const entries = groups.flatMap((group) => group.entries);
  const selected = Math.min(at, entries.length - 1);
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [selected, text]);
  const choose = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    close();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: (selected + 1) % entries.length,
      ArrowUp: (selected - 1 + entries.length) % entries.length,
    };
    const next = steps[event.key];
    if (event.key === 'Enter') choose(entries[selected]);
    else if (next !== undefined && entries.length > 0) setAt(next);
    else return;
    event.preventDefault();
  };
  const idOf = (entry: Entry): string => `${id}-${entries.indexOf(entry)}`;
  const current = entries[selected];
  return (
    <>
      <div class="search">
        <Icon of="search" />
        <input
          class="input"
          role="combobox"
          aria-label="Search or jump to"
          aria-expanded="true"
          aria-controls={id}
          aria-autocomplete="list"
          aria-activedescendant={current === undefined ? undefined : idOf(current)}
          placeholder="Pages, actions, generations by prompt or id"
          autocomplete="off"
          spellcheck={false}
          maxLength={200}
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      {/* Native elements can't be moved through from the field. */}
      {/* oxlint-disable jsx-a11y/prefer-tag-over-role */}
      <div ref={list} id={id} class="results" role="listbox" aria-label="Results">
        {groups.map(({ title, entries: inGroup }) => (
          <div key={title} role="group" aria-labelledby={`${id}-${title}`}>
            <p class="menu-title" id={`${id}-${title}`} role="presentation">
              {title}
            </p>
            {inGroup.map((entry) => (
              <Option
                key={idOf(entry)}
                id={idOf(entry)}
                entry={entry}
                isSelected={entry === current}
                point={() => setAt(entries.indexOf(entry))}
                choose={() => choose(entry)}
              />
            ))}
          </div>
        ))}
      </div>
      {/* oxlint-enable jsx-a11y/prefer-tag-over-role */}
      {entries.length > 0 ? null : <p class="none">{`Nothing matches “${text.trim()}”.`}</p>}
    </>
  );
}

interface OptionProps {
  readonly id: string;
  readonly entry: Entry;
  readonly isSelected: boolean;
  readonly point: () => void;
  readonly choose: () => void;
}

function Option({ id, entry: { text, note, icon, picture }, isSelected, point, choose }: OptionProps) {
  return (
    // The field has the focus and the keys.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus, jsx-a11y/prefer-tag-over-role
    <div id={id} role="option" aria-selected={isSelected} onPointerMove={point} onClick={choose}>
      {picture === undefined ? <Icon of={icon} size={14} /> : <img src={picture} alt="" width={24} height={24} />}
      <span class="cut grow">{text}</span>
      {note === undefined ? null : <span class="small faint">{note}</span>}
    </div>
  );
}

const PAUSE_MS = 200;

/** What matches a text; without one, recent generations first. */
function useGroups(text: string): readonly Group[] {
  const generations = useGenerations(text);
  const create = useCreate(text);
  const pages = pageEntries();
  const groups =
    text === ''
      ? [
          { title: 'Recent generations', entries: generations },
          { title: 'Pages', entries: pages },
          { title: 'Actions', entries: actions() },
        ]
      : [
          { title: 'Pages', entries: pages.filter((entry) => matches(entry, text)) },
          { title: 'Actions', entries: actions().filter((entry) => matches(entry, text)) },
          { title: 'Generations', entries: generations },
          { title: 'Create', entries: create },
        ];
  const shown = groups.filter(({ entries }) => entries.length > 0);
  const count = shown.reduce((sum, { entries }) => sum + entries.length, 0);
  useEffect(() => {
    if (text !== '') say(count === 1 ? '1 result' : `${count} results`);
  }, [text, count]);
  return shown;
}

/** Each word begins a word of the entry. */
function matches({ text, words = '' }: Entry, wanted: string): boolean {
  const known = ` ${text} ${words}`.toLowerCase();
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => known.includes(` ${word}`));
}

function pageEntries(): readonly Entry[] {
  const hasOperatorArea = overview.value?.has_operator_area === true;
  return (Object.keys(PAGES) as PageName[])
    .filter((page) => hasOperatorArea || !page.startsWith('operator'))
    .map((page) => ({
      text: page.startsWith('operator') ? `Operator: ${PAGES[page].title}` : PAGES[page].title,
      icon: iconOf(page),
      run: () => goTo(hrefOf(page)),
    }));
}

function actions(): readonly Entry[] {
  const mcpUrl = overview.value?.mcp_url ?? null;
  const copyUrl = async (url: string): Promise<void> => {
    if (await copyText(url, 'the MCP address')) announce('The MCP address is copied.');
  };
  const act = (text: string, icon: IconName, words: string, run: () => void): Entry => ({ text, icon, words, run });
  const showHelp = (): void => {
    isHelpOpen.value = true;
  };
  const switchTo = (one: Theme) => (): void => {
    theme.value = one;
  };
  const isNew = { query: { new: '1' } };
  return [
    act('New generation', 'wand-sparkles', 'create playground', () => goTo(hrefOf('playground'))),
    act('Create key', 'key-round', 'api new', () => goTo(hrefOf('keys', isNew))),
    act('Create webhook', 'webhook', 'new', () => goTo(hrefOf('webhooks', isNew))),
    ...(mcpUrl === null ? [] : [act('Copy MCP address', 'copy', '', () => void copyUrl(mcpUrl))]),
    ...THEMES.filter((one) => one !== theme.value).map((one) =>
      act(`Switch to the ${one} theme`, 'sun-moon', 'appearance dark light mode', switchTo(one)),
    ),
    act('Keyboard shortcuts', 'keyboard', '', showHelp),
    act('API reference', 'book', 'docs', () => window.location.assign('/docs')),
    act('Sign out', 'log-out', 'log', signOut),
  ];
}

/** Takes the text as a prompt to the playground, where the person sees what it costs. */
function useCreate(text: string): readonly Entry[] {
  const { value: models = [] } = useModels();
  const usable = models.filter(({ prompt_rule: rule }) => rule !== 'none');
  const model = usable.find(({ is_test: isTest }) => !isTest) ?? usable[0];
  if (model === undefined || overview.value?.account.is_suspended !== false) return [];
  const { model_key: key, display_name: name } = model;
  return [
    {
      text: `Create “${text}” with ${name}`,
      note: 'Playground',
      icon: 'wand-sparkles',
      run: () => {
        handedPrompt.value = text;
        goTo(hrefOf('playground', { query: { model: key } }));
      },
    },
  ];
}

/** By words of the prompt or by id, a moment after the last key. */
function useGenerations(text: string): readonly Entry[] {
  const [wanted, setWanted] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setWanted(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const query = new URLSearchParams(wanted === '' ? { limit: '5' } : { limit: '8', q: wanted }).toString();
  const { value, fault } = useData<{ readonly generations: readonly AccountGeneration[] }>(`/generations?${query}`);
  // Those of an earlier text would not match.
  if (wanted !== text || fault !== undefined) return [];
  return (value?.generations ?? []).map((generation) => ({
    text: promptOf(generation),
    note: generation.status,
    icon: 'images',
    picture: generation.thumbnails[0]?.small,
    run: () => goTo(hrefOf('generations', { id: generation.generation_id })),
  }));
}
