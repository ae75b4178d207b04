/** Loaded before anything is drawn: the theme that the person chose in the console, instead of the system's. */
{
  try {
    const theme = localStorage.getItem('darkroom.theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset['theme'] = theme;
  } catch {
    // The browser stores nothing for this page, which then follows the system.
  }
}
