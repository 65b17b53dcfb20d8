"""The weather tool: simulated, the same for one city and day, and says so."""

import hashlib
import unicodedata
from datetime import UTC, date, datetime

from ...errors import InvalidArguments
from ..core import JsonObject
from ..factory import tool

MAX_CITY_CHARACTERS = 100
SKIES = ("clear", "partly cloudy", "cloudy", "light rain", "rain", "thunderstorm", "fog", "snow")
SNOW_BELOW_CELSIUS = 2
NOTE = "Simulated weather: the same for one city and day, not a measurement or forecast."


@tool(
    name="get_weather",
    description=(
        "Simulated weather of a city today (for demonstrations; it says so). Not a real forecast: for real weather use "
        "web_search or fetch_page."
    ),
    parameters={
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name of the city, e.g. Shanghai or 上海", "minLength": 1}
        },
        "required": ["city"],
        "additionalProperties": False,
    },
    category="weather",
    read_only=True,
    pure=True,
    inline=True,
    cache_ttl=60,
    summarize=lambda arguments, data: f"{data['city']}: {data['temperature_c']} °C, {data['conditions']} (simulated)",
)
def get_weather(arguments: JsonObject) -> JsonObject:
    """`{city, date, conditions, temperature_c, humidity_percent, wind_kmh, simulated, note}`."""
    city = " ".join(str(arguments["city"]).split())
    if not city or len(city) > MAX_CITY_CHARACTERS or not any(letter.isalpha() for letter in city):
        raise InvalidArguments(f"{city[:MAX_CITY_CHARACTERS]!r} is not the name of a city.")
    return simulate(city, datetime.now(UTC).date())


def simulate(city: str, day: date) -> JsonObject:
    """The weather of that city and day, from a hash of both."""
    plain = unicodedata.normalize("NFKC", city).casefold()
    dice = hashlib.sha256(f"{plain}|{day.isoformat()}".encode()).digest()
    temperature = dice[0] % 41 - 8
    sky = SKIES[dice[1] % len(SKIES)]
    if (sky == "snow") != (temperature < SNOW_BELOW_CELSIUS and sky in {"snow", "rain", "light rain"}):
        sky = "snow" if temperature < SNOW_BELOW_CELSIUS else "cloudy"
    return {
        "city": city,
        "date": day.isoformat(),
        "conditions": sky,
        "temperature_c": temperature,
        "humidity_percent": 35 + dice[2] % 61,
        "wind_kmh": dice[3] % 46,
        "simulated": True,
        "note": NOTE,
    }
