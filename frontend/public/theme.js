// Runs before the first paint so that a dark page never flashes white.
(function () {
  var root = document.documentElement;
  try {
    var saved = JSON.parse(localStorage.getItem('nanoclaw.prefs') || '{}');
    var dark = saved.theme === 'dark' || (saved.theme !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
    root.dataset.theme = dark ? 'dark' : 'light';
    root.dataset.density = saved.density || 'comfortable';
    root.dataset.text = saved.textSize || 'medium';
    if (saved.locale) root.lang = saved.locale;
  } catch (e) {
    root.dataset.theme = 'light';
  }
})();
