/**
 * Adds copy buttons, a filter of the navigation, a choice of language for all samples, and the address of this service in the
 * samples. The pages can be read without it.
 */

const LANGUAGE = 'darkroom.reference.language';
const SHORTCUTS = 'darkroom.shortcuts';
const COPIED_MS = 2_000;

addCopyButtons();
followLanguage();
showAddress();
findRequests();
openTarget();
addEventListener('hashchange', openTarget);
markSection();
closeMenu();

function each<E extends Element>(selector: string, visit: (element: E) => void, within: ParentNode = document): void {
  for (const element of within.querySelectorAll<E>(selector)) visit(element);
}

function addCopyButtons(): void {
  each<HTMLElement>('.code', (block) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.setAttribute('aria-live', 'polite');
    button.addEventListener('click', () => {
      void copied(block.querySelector('pre') as HTMLElement).then((done) => {
        button.textContent = done ? 'Copied' : 'Select and copy';
        setTimeout(() => (button.textContent = 'Copy'), COPIED_MS);
      });
    });
    block.append(button);
  });
}

/** The clipboard exists on HTTPS and on this machine only; elsewhere the text is selected and copied as a person would. */
async function copied(from: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(from.innerText);
    return true;
  } catch {
    getSelection()?.selectAllChildren(from);
    return document.execCommand('copy');
  }
}

/** All samples of a page show the chosen language, where they have it, and so does the next page. */
function followLanguage(): void {
  const choose = (language: string | null): void =>
    each<HTMLInputElement>('.languages input', (input) => {
      if (input.value === language) input.checked = true;
    });
  choose(remembered(LANGUAGE));
  addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || !target.matches('.languages input')) return;
    const before = target.getBoundingClientRect().top;
    choose(target.value);
    // Samples above have another height now.
    scrollBy(0, target.getBoundingClientRect().top - before);
    remember(target.value);
  });
}

function remembered(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function remember(language: string): void {
  try {
    localStorage.setItem(LANGUAGE, language);
  } catch {
    // The browser stores nothing for this page; the choice holds until it is left.
  }
}

/** The set-up names the address under which this page was opened. On the documentation site the service is elsewhere. */
function showAddress(): void {
  const home = document.querySelector<HTMLAnchorElement>('a[data-service]');
  const setup = document.querySelector('[data-base-url] code');
  if (home === null || setup === null) return;
  const address = new URL('.', home.href).href.replace(/\/$/, '');
  setup.innerHTML = setup.innerHTML.replace('http://127.0.0.1:8080', address);
}

function findRequests(): void {
  each<HTMLElement>('.finder', (finder) => {
    finder.hidden = false;
    const field = finder.querySelector('input') as HTMLInputElement;
    const status = finder.querySelector('[role=status]') as HTMLElement;
    const navigation = finder.nextElementSibling as HTMLElement;
    const isOpen = new Map<HTMLDetailsElement, boolean>();
    each<HTMLDetailsElement>('details', (group) => void isOpen.set(group, group.open), navigation);
    field.addEventListener('input', () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      each<HTMLElement>(
        'li',
        (item) => {
          if (item.querySelector('ul') !== null) return;
          const text = item.dataset['find'] ?? item.textContent.toLowerCase();
          item.hidden = !words.every((word) => text.includes(word));
          if (!item.hidden) count += 1;
        },
        navigation,
      );
      for (const [group, wasOpen] of isOpen) {
        group.open = words.length > 0 || wasOpen;
        (group.parentElement as HTMLElement).hidden = group.querySelector('li:not([hidden])') === null;
      }
      each<HTMLElement>(
        '.nav-title',
        (title) => (title.hidden = title.nextElementSibling?.querySelector(':scope > li:not([hidden])') === null),
        navigation,
      );
      status.textContent = words.length === 0 ? '' : count === 1 ? '1 match' : `${count} matches`;
    });
    field.addEventListener('keydown', ({ key }) => {
      if (key === 'Enter') navigation.querySelector<HTMLElement>('li:not([hidden]) > a:first-child')?.click();
    });
  });
  // The console lets people turn single keys off.
  if (remembered(SHORTCUTS) === 'off') return;
  addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.matches('input, textarea, select')) return;
    const field = [...document.querySelectorAll<HTMLInputElement>('.find')].find((one) => one.checkVisibility());
    if (field === undefined) return;
    event.preventDefault();
    field.focus();
  });
}

/** A field inside a folded list is shown when it is linked to. */
function openTarget(): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target === null) return;
  let isFolded = false;
  for (let at = target.parentElement; at !== null; at = at.parentElement)
    if (at instanceof HTMLDetailsElement && !at.open) isFolded = at.open = true;
  if (isFolded) target.scrollIntoView();
}

/** Marks the request that is being read in the navigation. */
function markSection(): void {
  const links = new Map<string, HTMLElement[]>();
  each<HTMLElement>('.nav a[href^="#"]', (link) => {
    const id = link.getAttribute('href')?.slice(1) ?? '';
    links.set(id, [...(links.get(id) ?? []), link]);
  });
  const watch = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries)
        for (const link of links.get(target.id) ?? [])
          if (isIntersecting) link.setAttribute('aria-current', 'location');
          else link.removeAttribute('aria-current');
    },
    { rootMargin: '-20% 0px -79% 0px' },
  );
  each('section.operation', (section) => watch.observe(section));
}

function closeMenu(): void {
  const menu = document.querySelector<HTMLDetailsElement>('.menu');
  menu?.addEventListener('click', ({ target }) => {
    if (target instanceof Element && target.closest('a') !== null) menu.open = false;
  });
}
